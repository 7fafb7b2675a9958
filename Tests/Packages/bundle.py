"""Unpacks an OCI image into a bundle for runc; prints the port at which it will listen.

usage: bundle.py IMAGE BUNDLE
"""

import gzip
import hashlib
import io
import json
import pathlib
import socket
import sys
import tarfile


def blob(image, wanted):
    kind, name = wanted.split(":")
    data = image.extractfile(f"blobs/{kind}/{name}").read()
    assert hashlib.sha256(data).hexdigest() == name, f"{wanted} is something else"
    return data


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main(path, bundle):
    with tarfile.open(path) as image:
        assert json.load(image.extractfile("oci-layout"))["imageLayoutVersion"] == "1.0.0"
        (entry,) = json.load(image.extractfile("index.json"))["manifests"]
        manifest = json.loads(blob(image, entry["digest"]))
        config = json.loads(blob(image, manifest["config"]["digest"]))
        (layer,) = manifest["layers"]
        plain = gzip.decompress(blob(image, layer["digest"]))
    assert config["rootfs"]["diff_ids"] == ["sha256:" + hashlib.sha256(plain).hexdigest()]
    with tarfile.open(fileobj=io.BytesIO(plain)) as files:
        files.extractall(bundle / "rootfs", filter="fully_trusted")
    port = free_port()
    settings = bundle / "rootfs/etc/callagent/callagent.lua"
    text = settings.read_text().replace("127.0.0.1:7600", f"127.0.0.1:{port}")
    settings.write_text(text)
    run = config["config"]
    user, group = map(int, run["User"].split(":"))
    assert (user, group) == (65532, 65532)
    mounts = [
        {"destination": "/proc", "type": "proc", "source": "proc"},
        {"destination": "/dev", "type": "tmpfs", "source": "tmpfs",
         "options": ["nosuid", "strictatime", "mode=755", "size=65536k"]},
        {"destination": "/var/lib/callagent", "type": "bind", "source": str(bundle / "state"),
         "options": ["bind", "rw"]},
    ]
    none = {kind: [] for kind in ("bounding", "effective", "permitted", "ambient")}
    spec = {
        "ociVersion": "1.0.2", "root": {"path": "rootfs", "readonly": True}, "mounts": mounts,
        "process": {
            "terminal": False, "user": {"uid": user, "gid": group}, "env": run["Env"],
            "args": run["Entrypoint"] + run["Cmd"], "cwd": run["WorkingDir"],
            "capabilities": none, "noNewPrivileges": True},
        "linux": {"namespaces": [{"type": kind} for kind in ("pid", "ipc", "uts", "mount")]},
    }
    (bundle / "config.json").write_text(json.dumps(spec))
    print(port)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
