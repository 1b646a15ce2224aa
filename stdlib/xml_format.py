"""XML to values. Document types are refused, and of entities only the five of XML itself are known: nothing is expanded or
fetched.
"""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import Family
from language.values import type_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

family = Family("xml_format", "XML", pure=True)

#: The most nested levels of elements; the most elements and attributes in total; the most characters of a text.
MOST_DEPTH = 128
MOST_NODES = 1_000_000
_MOST_CHARACTERS = 1 << 26
#: How many bytes are read between two cancellation points.
_PIECE = 1 << 16


@family.builtin("xml_parse(text)", profile="native")
def xml_parse(text: Any) -> dict[str, Any]:
    """The content of an XML text (or of its bytes) as a map from the name of the root element to its value.

    An element that holds only text is that text, without the blanks around it; an empty one is `""`. An element with attributes
    or elements inside is a map: attributes as `@name`, elements by their names, repeated ones as a list, and text beside them
    as `#text`. Names keep their prefix (`dc:title`); comments and processing instructions are left out, CDATA is text.

    A document type (`<!DOCTYPE`) is an error: no entities are declared and nothing is fetched. So is nesting deeper than 128
    levels, and a text with more than 1,000,000 elements and attributes. Errors begin `xml_parse: invalid XML` and name the
    line.

    `xml_parse("<a x='1'><b>2</b><b>3</b></a>")` is `{a: {@x: "1", b: ["2", "3"]}}`.
    """
    try:
        __import__("pyexpat")
    except ImportError:
        from stdlib.native_only import native_only

        raise native_only("xml_parse", "this build has no XML parser") from None
    if type(text) is not str and type(text) is not bytes:
        raise RuntimeFault(f"xml_parse expects text or bytes, got {type_of(text)}", kind="type")
    if len(text) > _MOST_CHARACTERS:
        raise RuntimeFault(f"xml_parse: the text is longer than {_MOST_CHARACTERS} characters", kind="resources")
    return _Reader(text).read()


class _Refused(Exception):
    """Stops the parser; the text is the reason."""


class _Element:
    """One open element."""

    __slots__ = ("entries", "name", "repeated", "text")

    def __init__(self, name: str) -> None:
        self.name = name
        self.entries: dict[str, Any] = {}
        self.repeated: set[str] = set()
        self.text: list[str] = []

    def add(self, name: str, value: Any) -> None:
        if name in self.repeated:
            self.entries[name].append(value)
        elif name in self.entries:
            self.entries[name] = [self.entries[name], value]
            self.repeated.add(name)
        else:
            self.entries[name] = value

    def value(self) -> Any:
        text = "".join(self.text).strip(" \t\r\n")
        if not self.entries:
            return text
        if text:
            self.entries["#text"] = text
        return self.entries


class _Reader:
    """Reads one document. The parser works on pieces of it, so that the program can be cancelled between them."""

    def __init__(self, source: str | bytes) -> None:
        from pyexpat import ParserCreate

        text = source.lstrip("\ufeff") if isinstance(source, str) else None
        # A text is already decoded, whatever encoding its declaration names.
        self._data = text.encode("utf-8", "replace") if text is not None else source
        parser = self._parser = ParserCreate("utf-8" if text is not None else None)
        parser.buffer_text = True
        parser.ordered_attributes = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.StartDoctypeDeclHandler = self._doctype
        parser.EntityDeclHandler = self._entity
        parser.ExternalEntityRefHandler = self._entity
        self._root = _Element("")
        self._open = [self._root]
        self._nodes = 0

    def read(self) -> dict[str, Any]:
        from pyexpat import ErrorString, ExpatError

        from language.waits import cancellation_point

        data: Any = self._data
        try:
            for start in range(0, len(data), _PIECE):
                self._parser.Parse(data[start : start + _PIECE], False)
                cancellation_point()
            self._parser.Parse(b"", True)
        except ExpatError as error:
            raise self._invalid(f"{ErrorString(error.code)} at line {error.lineno}, column {error.offset + 1}") from None
        except _Refused as refused:
            raise self._invalid(f"{refused} at line {self._parser.CurrentLineNumber}") from None
        except (ValueError, LookupError, TypeError):  # an encoding that the declaration names and Python does not have
            raise self._invalid("the encoding that it declares is not known") from None
        return self._root.entries

    def _invalid(self, why: str) -> RuntimeFault:
        return RuntimeFault(f"xml_parse: invalid XML: {why}", code="E0407")

    def _start(self, name: str, attributes: list[str]) -> None:
        if len(self._open) > MOST_DEPTH:
            raise _Refused(f"nested more than {MOST_DEPTH} levels deep")
        self._nodes += 1 + len(attributes) // 2
        if self._nodes > MOST_NODES:
            raise _Refused(f"more than {MOST_NODES} elements and attributes")
        element = _Element(name)
        for at in range(0, len(attributes), 2):
            element.entries["@" + attributes[at]] = attributes[at + 1]
        self._open.append(element)

    def _end(self, name: str) -> None:
        element = self._open.pop()
        self._open[-1].add(element.name, element.value())

    def _characters(self, text: str) -> None:
        self._open[-1].text.append(text)

    def _doctype(self, *_: Any) -> None:
        raise _Refused("a document type (DOCTYPE) is not allowed")

    def _entity(self, *_: Any) -> int:
        raise _Refused("entities are not allowed")
