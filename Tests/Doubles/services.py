"""The push services, the token endpoint and the receiver of webhooks: each checks what it gets."""

import json
import re
import time
import urllib.parse

import http_ece
import jwt
import standardwebhooks
from py_vapid import Vapid02

from credentials import point, public_pem, url64
from h2_server import Reply

TOPIC = "com.example.app"
PUSH_TYPES = {"alert", "background", "voip", "location", "complication", "fileprovider", "mdm"}


class Refused(Exception):
    """A request that the real service would not accept."""

    def __init__(self, status, reason, detail="", dead_for=0):
        super().__init__(f"{status} {reason} {detail}")
        self.status = status
        self.reason = reason
        self.detail = detail
        self.dead_for = dead_for


def check(condition, status, reason, detail=""):
    if not condition:
        raise Refused(status, reason, detail)


def as_json(body):
    return json.dumps(body).encode()


class Apple:
    """APNs over token authentication."""

    def __init__(self, credentials):
        self.credentials = credentials
        self.tokens_seen = set()

    def accepts(self, request):
        return request.path.startswith("/3/device/")

    def subject(self, request):
        return request.path.rsplit("/", 1)[1]

    def handle(self, request):
        check(request.method == "POST", 405, "MethodNotAllowed")
        check(not request.doubled(), 400, "DuplicateHeaders", ",".join(request.doubled()))
        check(re.fullmatch("[0-9a-f]{64,200}", self.subject(request)), 400, "BadDeviceToken")
        kind = request.header("apns-push-type")
        check(kind in PUSH_TYPES, 400, "InvalidPushType", str(kind))
        topic = request.header("apns-topic")
        check(topic, 400, "MissingTopic")
        wanted = TOPIC + ".voip" if kind == "voip" else TOPIC
        check(topic == wanted, 400, "DeviceTokenNotForTopic", topic)
        check(request.header("apns-priority") in ("10", "5", "1"), 400, "BadPriority")
        check(re.fullmatch("[0-9]+", request.header("apns-expiration") or ""), 400,
              "BadExpirationDate")
        check(re.fullmatch("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
                           request.header("apns-id") or ""), 400, "BadMessageId")
        check(len(request.header("apns-collapse-id") or "") <= 64, 400, "BadCollapseId")
        check(request.body, 400, "PayloadEmpty")
        limit = 5120 if kind == "voip" else 4096
        check(len(request.body) <= limit, 413, "PayloadTooLarge", str(len(request.body)))
        self.check_bearer(request)
        payload = json.loads(request.body)
        check(isinstance(payload.get("aps"), dict), 400, "PayloadEmpty", "no aps")
        return Reply(200, [("apns-id", request.header("apns-id"))]), payload

    def check_bearer(self, request):
        word, _, token = (request.header("authorization") or "").partition(" ")
        check(word == "bearer" and token, 403, "MissingProviderToken")
        try:
            header = jwt.get_unverified_header(token)
            claims = jwt.decode(token, public_pem(self.credentials.apns), algorithms=["ES256"],
                                options={"verify_iat": False})
        except jwt.PyJWTError as error:
            raise Refused(403, "InvalidProviderToken", str(error)) from error
        check(header.get("kid") == "ABC123DEFG" and claims.get("iss") == "TEAM123456", 403,
              "InvalidProviderToken", "kid or iss")
        check(abs(time.time() - claims["iat"]) < 3600, 403, "ExpiredProviderToken")
        self.tokens_seen.add(token)

    def refuse(self, refusal):
        body = {"reason": refusal.reason}
        if refusal.status == 410:
            body["timestamp"] = int((time.time() - refusal.dead_for) * 1000)
        return Reply(refusal.status, [("apns-id", "0")], as_json(body))


class Google:
    """FCM HTTP v1 and the OAuth 2 token endpoint."""

    def __init__(self, credentials, base):
        self.credentials = credentials
        self.base = base
        self.lifetime = 3600
        self.clock_skew = 0
        self.issued = {}

    def accepts(self, request):
        return request.path in ("/token", "/v1/projects/double/messages:send")

    def subject(self, request):
        if request.path == "/token":
            return "oauth"
        try:
            return json.loads(request.body)["message"]["token"]
        except (ValueError, KeyError, TypeError):
            return ""

    def handle(self, request):
        return self.grant(request) if request.path == "/token" else self.send(request)

    def grant(self, request):
        form = dict(urllib.parse.parse_qsl(request.body.decode()))
        check(form.get("grant_type") == "urn:ietf:params:oauth:grant-type:jwt-bearer", 400,
              "unsupported_grant_type")
        now = time.time() + self.clock_skew
        try:
            claims = jwt.decode(
                form.get("assertion", ""), public_pem(self.credentials.service),
                algorithms=["RS256"], audience=self.base + "/token", issuer="push@double.example",
                options={"verify_exp": False, "verify_iat": False})
        except jwt.PyJWTError as error:
            raise Refused(400, "invalid_grant", str(error)) from error
        check(claims["scope"] == "https://www.googleapis.com/auth/firebase.messaging", 400,
              "invalid_scope")
        check(claims["exp"] - claims["iat"] <= 3600, 400, "invalid_grant", "lives too long")
        check(claims["iat"] <= now + 60 and claims["exp"] > now, 400, "invalid_grant",
              "Token must be a short-lived token and in a reasonable timeframe")
        token = f"access-{len(self.issued)}"
        self.issued[token] = now + self.lifetime
        body = {"access_token": token, "expires_in": self.lifetime, "token_type": "Bearer"}
        return Reply(200, [("content-type", "application/json")], as_json(body)), claims

    def send(self, request):
        word, _, token = (request.header("authorization") or "").partition(" ")
        until = self.issued.get(token, 0) if word == "Bearer" else 0
        check(until > time.time() + self.clock_skew, 401, "UNAUTHENTICATED")
        check(request.header("content-type") == "application/json", 400, "INVALID_ARGUMENT")
        message = json.loads(request.body)["message"]
        data = message.get("data", {})
        check(all(isinstance(value, str) for value in data.values()), 400, "INVALID_ARGUMENT",
              "message.data")
        size = sum(len(key.encode()) + len(value.encode()) for key, value in data.items())
        check(size <= 4096, 400, "INVALID_ARGUMENT", "too large")
        android = message.get("android", {})
        check(android.get("priority") in ("HIGH", "NORMAL"), 400, "INVALID_ARGUMENT", "priority")
        check(re.fullmatch(r"\d+(\.\d{1,9})?s", android.get("ttl", "")), 400, "INVALID_ARGUMENT",
              "android.ttl")
        name = f"projects/double/messages/{len(data)}"
        return Reply(200, [("content-type", "application/json")], as_json({"name": name})), message

    def refuse(self, refusal):
        if refusal.reason.islower():
            body = {"error": refusal.reason, "error_description": refusal.detail}
        else:
            kind = "type.googleapis.com/google.firebase.fcm.v1.FcmError"
            details = [{"@type": kind, "errorCode": refusal.reason}]
            if refusal.detail.startswith("message."):
                details.append({
                    "@type": "type.googleapis.com/google.rpc.BadRequest",
                    "fieldViolations": [{"field": refusal.detail, "description": "Invalid"}]})
            body = {"error": {"code": refusal.status, "status": refusal.reason,
                              "message": refusal.detail, "details": details}}
        return Reply(refusal.status, [("content-type", "application/json")], as_json(body))


class Browser:
    """A Web Push service together with the browser behind it."""

    def __init__(self, credentials, base):
        self.credentials = credentials
        self.base = base

    def accepts(self, request):
        return request.path.startswith("/web/")

    def subject(self, request):
        return request.path.rsplit("/", 1)[1]

    def handle(self, request):
        check(request.method == "POST", 405, "method")
        check(re.fullmatch("[0-9]+", request.header("ttl") or ""), 400, "ttl")
        check(request.header("urgency") in ("very-low", "low", "normal", "high"), 400, "urgency")
        topic = request.header("topic")
        check(topic is None or re.fullmatch("[A-Za-z0-9_-]{1,32}", topic), 400, "topic")
        check(len(request.body) <= 4096, 413, "too large", str(len(request.body)))
        check(request.header("content-encoding") == "aes128gcm", 415, "encoding")
        self.check_vapid(request)
        plain = http_ece.decrypt(
            request.body, private_key=self.credentials.browser,
            auth_secret=self.credentials.browser_secret, version="aes128gcm")
        location = ("location", self.base + "/message/1")
        return Reply(201, [location]), json.loads(plain)

    def check_vapid(self, request):
        value = request.header("authorization") or ""
        match = re.fullmatch(r"vapid t=([\w.-]+), k=([\w-]+)", value)
        check(match, 401, "vapid", value)
        wanted = url64(point(self.credentials.vapid))
        check(match[2] == wanted, 403, "vapid key", "subscribed with another one")
        # py_vapid does not take the space that RFC 8292 writes after the comma.
        check(Vapid02.verify(value.replace(", ", ",")), 403, "vapid signature")
        claims = jwt.decode(match[1], options={"verify_signature": False})
        check(claims["aud"] == self.base, 403, "aud", claims["aud"])
        check(0 < claims["exp"] - time.time() <= 86_400, 403, "exp")
        check(re.match("mailto:|https:", claims.get("sub", "")), 403, "sub")

    def refuse(self, refusal):
        return Reply(refusal.status, [], as_json({"reason": refusal.reason,
                                                  "detail": refusal.detail}))


class Receiver:
    """Somebody who gets our webhooks."""

    def __init__(self, credentials, secrets):
        self.secrets = secrets

    def accepts(self, request):
        return request.path.startswith("/hook/")

    def subject(self, request):
        return request.path.rsplit("/", 1)[1]

    def handle(self, request):
        """Each of the secrets must fit one of the signatures, as while a key is being changed."""
        headers = dict(request.fields)
        wanted = self.secrets if self.subject(request).startswith("rotating") else self.secrets[:1]
        for secret in wanted:
            try:
                standardwebhooks.Webhook(secret).verify(request.body, headers)
            except standardwebhooks.WebhookVerificationError as error:
                raise Refused(401, "signature", str(error)) from error
        return Reply(204), json.loads(request.body)

    def refuse(self, refusal):
        return Reply(refusal.status, [], as_json({"reason": refusal.reason,
                                                  "detail": refusal.detail}))


class Mirror:
    """Paths for trying the engine itself."""

    def accepts(self, request):
        return request.path.startswith("/try/")

    def subject(self, request):
        return request.path.split("/", 3)[-1].partition("?")[0]

    def handle(self, request):
        what = self.subject(request)
        if what.startswith("big-"):
            return Reply(200, [], b"x" * int(what[4:])), None
        if what.startswith("headers-"):
            return Reply(200, [("x-long", "y" * int(what[8:]))]), None
        if what == "redirect":
            return Reply(302, [("location", "/try/echo")]), None
        body = {"method": request.method, "path": request.path, "fields": request.fields,
                "body": request.body.decode("latin-1")}
        return Reply(200, [("content-type", "application/json")], as_json(body)), None

    def refuse(self, refusal):
        return Reply(refusal.status)
