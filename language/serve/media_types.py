"""The media type of a file by the extension of its name (docs/serve.md)."""

from __future__ import annotations

UNKNOWN = "application/octet-stream"

_CHARSET = "; charset=utf-8"

_FIXED = {
    "html": "text/html" + _CHARSET,
    "htm": "text/html" + _CHARSET,
    "css": "text/css" + _CHARSET,
    "txt": "text/plain" + _CHARSET,
    "js": "text/javascript" + _CHARSET,
    "mjs": "text/javascript" + _CHARSET,
    "json": "application/json" + _CHARSET,
    "map": "application/json" + _CHARSET,
    "xml": "application/xml" + _CHARSET,
    "svg": "image/svg+xml",
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "ico": "image/x-icon",
    "woff": "font/woff",
    "woff2": "font/woff2",
    "ttf": "font/ttf",
    "wasm": "application/wasm",
    "pdf": "application/pdf",
    "webmanifest": "application/manifest+json",
}

# Types registered with IANA that are missing in the table of some Python version; the type must not depend on the version.
_REGISTERED = {
    "7z": "application/x-7z-compressed",
    "apng": "image/apng",
    "atom": "application/atom+xml",
    "avif": "image/avif",
    "bz2": "application/x-bzip2",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "epub": "application/epub+zip",
    "flac": "audio/flac",
    "geojson": "application/geo+json",
    "glb": "model/gltf-binary",
    "gltf": "model/gltf+json",
    "gz": "application/gzip",
    "ics": "text/calendar" + _CHARSET,
    "jsonld": "application/ld+json",
    "m4a": "audio/mp4",
    "md": "text/markdown" + _CHARSET,
    "mkv": "video/matroska",
    "oga": "audio/ogg",
    "ogg": "audio/ogg",
    "ogv": "video/ogg",
    "otf": "font/otf",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "rss": "application/rss+xml",
    "rtf": "application/rtf",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "yaml": "application/yaml",
    "yml": "application/yaml",
    "zst": "application/zstd",
}

_known: dict[str, str] = {**_REGISTERED, **_FIXED}
_standard_is_read = False


def media_type(name: str) -> str:
    """The ``Content-Type`` of a file by its name, case aside; ``application/octet-stream`` for an unknown extension or none.

    Other types come from the table of Python's ``mimetypes``, without those that files of the machine add to it.
    """
    extension = name.rpartition(".")[2].lower() if "." in name else ""
    found = _known.get(extension)
    if found is None and not _standard_is_read:
        _read_standard()
        found = _known.get(extension)
    return found or UNKNOWN


def _read_standard() -> None:
    global _standard_is_read
    from mimetypes import MimeTypes

    for extension, kind in MimeTypes().types_map[True].items():
        _known.setdefault(extension[1:], kind + _CHARSET if kind.startswith("text/") else kind)
    _standard_is_read = True
