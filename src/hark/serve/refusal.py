"""The exception for requests that are refused; each API formats it in its own dialect."""


class Refusal(Exception):  # noqa: N818  # not a fault
    """A request is refused: the HTTP status, one line for the client, and the seconds to wait before a retry."""

    def __init__(self, status: int, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.retry_after = status, message, retry_after
