"""Alerts: what waits for a person is sent outside the page, to a command, a webhook, ntfy or a chat."""


class DeliveryFailed(Exception):
    """A target did not take a notification. Its text is for the operator, without addresses and secrets."""
