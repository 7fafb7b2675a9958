"""Prints the status of `readyz` at a port of this machine; 0 when nobody answers."""

import http.client
import sys


def status(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()


if __name__ == "__main__":
    print(status(int(sys.argv[1])))
