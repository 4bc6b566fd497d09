"""Write the page on settings: `python -m telex.config`, from the repository's root."""

from pathlib import Path

from telex.config.docs import settings_page

if __name__ == "__main__":
    Path("docs/settings.md").write_text(settings_page(), encoding="utf-8")
