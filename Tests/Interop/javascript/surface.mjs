// Whether the types tell of what is there: `node surface.mjs FOLDER NAME…`. Prints what is missing.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const ts = createRequire(import.meta.url)("/usr/share/nodejs/typescript");
const [, , folder, ...names] = process.argv;
const missing = [];

for (const name of names) {
  const text = readFileSync(`${folder}/${name}.d.ts`, "utf8");
  const source = ts.createSourceFile(name, text, ts.ScriptTarget.Latest);
  const module = await import(`${folder}/${name}.js`);
  const typed = new Set();
  ts.forEachChild(source, (node) => {
    if (!ts.isClassDeclaration(node) && !ts.isFunctionDeclaration(node)) return;
    typed.add(node.name.text);
    const there = module[node.name.text];
    if (!there) missing.push(`${name}.js has no ${node.name.text}`);
    else if (ts.isClassDeclaration(node)) compare(node, there);
  });
  for (const one of Object.keys(module)) {
    if (!typed.has(one)) missing.push(`${name}.d.ts has no ${one}`);
  }
}

function compare(node, there) {
  for (const member of node.members) {
    const key = member.name?.text;
    if (!key) continue; // a constructor, an iterator
    const isThere = key in there.prototype || new RegExp(`\\b${key}\\b`).test(String(there));
    if (!isThere) missing.push(`${node.name.text} has no ${key}`);
  }
}

console.log(missing.join("\n"));
process.exit(missing.length === 0 ? 0 : 1);
