// Elements without markup: nothing that anybody says is ever read as HTML.

/** `make("button", { type: "button", onclick }, "Mute")`. */
export function make(tag, properties = {}, ...children) {
  const { data, aria, ...own } = properties;
  const element = Object.assign(document.createElement(tag), own);
  for (const [name, value] of Object.entries(aria ?? {})) {
    element.setAttribute(`aria-${name}`, value);
  }
  Object.assign(element.dataset, data);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function find(id) {
  return document.getElementById(id);
}
