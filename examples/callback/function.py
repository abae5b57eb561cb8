"""A serverless function that asks, ends, and is called back when somebody has answered, perhaps days later. The operator
registered the callback "builder" with the address of resume (docs/webhooks.md)."""

import os

from askbus import Askbus, webhook


def start(build):
    Askbus().confirm(f"Deploy {build}?", id=f"deploy-{build}", callback="builder", wait=0)


def resume(headers, body):
    event = webhook(headers, body, os.environ["ASKBUS_WEBHOOK_SECRET"])  # raises if it is not from the bus
    ask_id = event.data["data"]["ask_id"]
    print(ask_id, Askbus().wait(ask_id), flush=True)  # at once: it has ended
    return 204  # else it comes again, with the same event.id
