"""Making the prose of a README readable: without HTML tags, comments and badges, with links spelled out."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping

__all__ = ["readable"]

# Only real HTML elements count as tags: `<package>` in prose is a placeholder that readers must see.
_INLINE_TAGS = (
    "a abbr b big cite code del dfn em font i ins kbd mark q s samp small span strike strong sub sup tt u var"
)
_BLOCK_TAGS = (
    "address article aside audio blockquote body br button caption center col colgroup dd details div dl dt "
    "fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 head header hr html iframe img input label legend li "
    "link main map meta nav object ol optgroup option p param picture pre section select source summary svg path table "
    "tbody td textarea tfoot th thead title tr track ul video wbr"
)

# Every repetition is bounded: an unclosed bracket must not be searched for to the end of a long file, once each.
_DESTINATION = r"(?:\([^)\n]{0,1000}\)|\[[^\]]{0,300}\])"
_MARKUP = re.compile(
    rf"""
    (?P<code> (?P<ticks>(?<!`)`+(?!`)) .{{1,500}}? (?<!`)(?P=ticks)(?!`) )
    | (?P<comment> <!-- )
    | (?P<opaque> <(?P<element>script|style)\b )
    | (?P<badge> \[ !\[ [^\]]{{0,300}} \] {_DESTINATION} \s? \] {_DESTINATION}? )
    | !\[ (?P<alt>[^\]]{{0,300}}) \] {_DESTINATION}
    | (?P<link> \[ (?P<label>[^\[\]]{{1,300}}) \] (?:\[ (?P<reference>[^\[\]]{{0,300}}) \])? (?![(:\[]) )
    | (?P<inline> </? (?:{"|".join(_INLINE_TAGS.split())}) \b [^<>]{{0,2000}} > )
    | (?P<block> </? (?:{"|".join(_BLOCK_TAGS.split())}) \b [^<>]{{0,2000}} > )
    | < (?P<address> (?:https?://|mailto:) [^<>\s]{{1,2000}} ) >
    | (?P<entity> &\#?\w{{1,32}}; )
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_TRAILING_BLANKS = re.compile(r"[ \t\xa0]+(?=\n|\Z)")
_BLANK_LINES = re.compile(r"\n{3,}")
_LABEL_BLANKS = re.compile(r"\s+")


def readable(text: str, references: Mapping[str, str] | None = None) -> str:
    """The prose ``text`` (Markdown source that is no code block) as a person would read it.

    HTML tags, comments, scripts and badges (a linked image) are dropped, other images become their alternative text,
    entities their character, ``<https://...>`` its address. Inline code stays as it is, and so do unclosed constructs.

    Args:
        references: address by lower-case label; a link by reference gets its address in place.
    """
    written: list[str] = []
    unclosed: set[str] = set()
    done = position = 0
    while match := _MARKUP.search(text, position):
        position = match.end()
        end = position
        if closer := _closer(match):
            # Once one is missing it is missing to the end: looking again at each opener would be quadratic.
            end = -1 if closer in unclosed else text.find(closer, position)
            if end < 0:
                unclosed.add(closer)
                continue
            end += len(closer)
        written += (text[done : match.start()], _replacement(match, references or {}))
        done = position = end
    written.append(text[done:])
    return _BLANK_LINES.sub("\n\n", _TRAILING_BLANKS.sub("", "".join(written)))


def _closer(match: re.Match[str]) -> str:
    if match["comment"]:
        return "-->"
    if match["opaque"]:
        return f"</{match['element']}>"
    return ""


def _replacement(match: re.Match[str], references: Mapping[str, str]) -> str:
    if match["link"]:
        label = match["reference"] or match["label"]
        address = references.get(_LABEL_BLANKS.sub(" ", label).strip().lower())
        return f"[{match['label']}]({address})" if address is not None else match[0]
    if match["block"]:
        return " "
    if match["entity"]:
        return html.unescape(match[0])
    if match["code"]:
        return match[0]
    return match["alt"] or match["address"] or ""
