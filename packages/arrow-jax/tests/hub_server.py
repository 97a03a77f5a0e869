"""A server shaped like the hub, on this machine, for one dataset."""

import contextlib
import hashlib
import http.server
import json
import threading
import urllib.parse

REPO = "owner/digits"
TOKEN = "hf_letmein"  # opens nothing but this server


API = f"/api/datasets/{REPO}/"
RESOLVE = f"/datasets/{REPO}/resolve/"


def commit_of(files):
    return hashlib.sha1(repr(sorted(files.items())).encode()).hexdigest()


def etag(content):
    return hashlib.sha1(content).hexdigest()


class Hub(http.server.ThreadingHTTPServer):
    """The server; `files` are path -> bytes, `seen` the requests so far."""

    def __init__(self, files, *, private, odd):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.private, self.odd, self.seen = files, private, odd, []


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path = urllib.parse.unquote(urllib.parse.urlparse(self.path).path)
        self.server.seen.append((self.command, path))
        if self.server.odd is not None:
            self.answer_oddly(*self.server.odd)
            return
        found = self.answer(path)
        headers = {"X-Repo-Commit": commit_of(self.server.files)}
        if isinstance(found, str):
            headers["X-Error-Code"] = found
            self.send_response(401 if self.server.private else 404)
            found = b"{}"
        else:
            self.send_response(200)
        if isinstance(found, bytes):
            headers["ETag"] = f'"{etag(found)}"'
        else:
            found = json.dumps(found).encode()
        for key, value in (headers | {"Content-Length": str(len(found))}).items():
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(found)

    def answer_oddly(self, status, headers, body):
        self.send_response(status)
        for key, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(key, value.format(path=self.path))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def answer(self, path):
        """Bytes of a file, something for JSON, or the code of an error."""
        files, commit = self.server.files, commit_of(self.server.files)
        allowed = self.headers.get("Authorization") == f"Bearer {TOKEN}"
        if self.server.private and not allowed:
            return "RepoNotFound"
        if not path.startswith((API, RESOLVE)):
            return "RepoNotFound"
        what, _, rest = path.removeprefix(API).partition("/")
        if path.startswith(RESOLVE):
            what, rest = "resolve", path.removeprefix(RESOLVE)
        revision, _, name = rest.partition("/")
        if revision not in ("main", commit):
            return "RevisionNotFound"
        names = [{"rfilename": n} for n in files]
        listed = [
            {"type": "file", "path": n, "size": len(c), "oid": etag(c)}
            for n, c in files.items()
        ]
        answers = {
            "revision": {"id": REPO, "sha": commit, "siblings": names},
            "tree": listed,
            "resolve": files.get(name, "EntryNotFound"),
        }
        return answers[what]


@contextlib.contextmanager
def hub(files, *, private=False, odd=None):
    """Serves files (path -> bytes) as the dataset REPO; gives address and requests.

    With `odd`, a (status, headers, body), every answer is that.
    """
    server = Hub(files, private=private, odd=odd)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", server.seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
