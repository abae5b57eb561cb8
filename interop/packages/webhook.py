"""The test vector of Standard Webhooks, and what is not to be accepted."""

from askbus import webhook

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
AT = 1614265330
HEADERS = {"Webhook-Id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": str(AT), "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="}
BODY = b'{"test": 2432232314}'


def check(name, headers=None, body=BODY, secret=SECRET, now=AT):
    try:
        event = webhook({**HEADERS, **(headers or {})}, body, secret, now=now)
        print(name, event.id, event.data["test"])
    except Exception as error:
        print(name, type(error).__name__, getattr(error, "code", ""), error)


check("vector")
check("request", body=BODY.decode())
check("rotated", {"webhook-signature": "v1,AAAA v1a,AAAA " + HEADERS["webhook-signature"]}, secret=["whsec_b2xk", SECRET])
check("body", body=BODY + b" ")
check("id", {"Webhook-Id": "msg_2"})
check("secret", secret="whsec_b2xk")
check("old", now=AT + 301)
check("early", now=AT - 301)
check("nan", {"webhook-timestamp": "NaN"})
check("header", {"Webhook-Id": ""})
check("none", secret="MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
