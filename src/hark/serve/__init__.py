"""The server: translation over HTTP, in several dialects, and a page."""
