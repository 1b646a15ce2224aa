"""The words of the pages: complete in every language, and chosen as the person asks."""

from __future__ import annotations

import re
import string
from pathlib import Path

import pytest

from platform_api.dashboard import words as module
from platform_api.dashboard.said import Part, entries, said_in
from platform_api.dashboard.schedules import meaning_in
from platform_api.dashboard.words import LANGUAGES, chosen, words_of

_FOLDER = Path(module.__file__).parent


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("language", [language for language in LANGUAGES if language != "en"])
def test_every_language_has_the_same_keys_and_placeholders(language: str) -> None:
    english, other = words_of("en").texts, words_of(language).texts
    assert set(english) == set(other)
    assert [key for key in english if placeholders(english[key]) != placeholders(other[key])] == []
    assert not [key for key, text in other.items() if not text.strip()]


def test_every_text_that_a_page_asks_for_is_there_and_no_other() -> None:
    texts = set(words_of("en").texts)
    called, named = set(), set()
    for path in [*_FOLDER.rglob("*.html"), *_FOLDER.glob("*.py")]:
        source = path.read_text(encoding="utf-8")
        called |= set(re.findall(r"""words\(\s*["']([a-z_]+\.[a-z0-9_]+)["']\s*[,)]""", source))
        named |= set(re.findall(r"""["']([a-z_]+\.[a-z0-9_]+)["']""", source))
    assert called <= texts
    # What is put together from a status, a kind, a number, the name of a tab.
    made = ("status.", "kind.", "failure.", "time.", "new.from_", "tab.", "gate.kind_", "scope.", "via.", "notices.kind_")
    rest = {key for key in texts - named if not key.startswith(made)}
    assert rest == {"runs.manual"}


@pytest.mark.parametrize(
    ("header", "cookie", "language"),
    [
        ("", None, "en"),
        ("es-MX,en;q=0.5", None, "es"),
        ("fr,pt-BR;q=0.4,es;q=0.6", None, "es"),
        ("pt;q=0,es;q=0.1", None, "es"),
        ("en", "pt", "pt"),
        ("es", "xx", "es"),
        ("es;q=much", None, "en"),
        ("de", None, "en"),
    ],
)
def test_the_language_is_what_the_person_asks_for(header: str, cookie: str | None, language: str) -> None:
    assert chosen(header, cookie) == language


def test_what_the_service_says_is_known_in_every_language_and_still_said() -> None:
    root = _FOLDER.parent
    source = "".join(path.read_text(encoding="utf-8") for path in sorted(root.rglob("*.py")))
    source = re.sub(r'"\s*\n\s*f?"', "", source)  # a text that goes on in the next line
    english = [entry["en"] for entry in entries()]
    assert len(set(english)) == len(english) > 60
    for entry in entries():
        assert set(entry) == set(LANGUAGES)
        assert len({frozenset(placeholders(text)) for text in entry.values()}) == 1, entry["en"]
        for piece in re.split(r"\{\w+\}", entry["en"]):
            assert piece.strip(" :.") in source, f"nobody says {piece!r} any more"


@pytest.mark.parametrize(
    ("english", "spanish"),
    [
        ("The two passwords differ.", "Las dos contraseñas son distintas."),
        ("A password has 10 to 1024 characters.", "Una contraseña tiene de 10 a 1024 caracteres."),
        ("There is no such project.", "No existe tal cosa: proyecto."),
        (
            "Too many failed sign-ins: try again in 7 seconds.",
            "Demasiados inicios de sesión fallidos: inténtelo de nuevo en 7 segundos.",
        ),
        (
            'require net("*") (main.lang, line 3): the plan free does not allow the network without a host: name the hosts.',
            'require net("*") (main.lang, line 3): el plan free no permite la red sin un host: nombre los hosts.',
        ),
        ("main.lang:5: Unexpected character", None),
        ("", None),
    ],
)
def test_a_sentence_of_the_service_in_another_language(english: str, spanish: str | None) -> None:
    found = said_in("es", english)
    assert (None if found is None else "".join(part.text for part in found)) == spanish
    assert said_in("en", english) == (Part(english),)


def test_what_is_english_inside_of_another_language_is_marked() -> None:
    sentence = "The repository https://a.example/b/c could not be fetched: the server said 502."
    found = said_in("pt", sentence)
    assert found is not None
    assert [part.text for part in found if part.english] == ["the server said 502"]
    known = said_in("es", "{} cannot be run: it is stopped. Deploy it first.".format("Report"))
    assert known is not None and not any(part.english for part in known)


def test_a_status_inside_of_a_sentence_is_in_the_language_of_the_page() -> None:
    words = words_of("es")
    found = words.sentence("The run is over: it is succeeded.")
    assert found is not None and "".join(part.text for part in found).endswith(f"{words.status('succeeded')}.")
    assert words.status("succeeded") != "succeeded"


def test_a_long_text_of_a_program_is_compared_with_no_sentence() -> None:
    for length, known in ((100, True), (4_000, False)):
        assert (said_in("es", f"The run {'x' * length} is cancelled.") is not None) == known


@pytest.mark.parametrize(
    ("text", "spanish", "portuguese"),
    [
        ("", "se ejecuta solo cuando se pide", "executa só quando se pede"),
        ("30 6 * * 1-5", "A las 06:30, de lunes a viernes (UTC)", "Às 06:30, de segunda-feira a sexta-feira (UTC)"),
        ("@daily", "A las 00:00 (UTC)", "Às 00:00 (UTC)"),
        (
            "0 0 1 1,6 *",
            "A las 00:00, el día 1 del mes, sólo en enero y junio (UTC)",
            "Às 00:00, no dia 1 do mês, somente em janeiro e junho (UTC)",
        ),
        # Day or weekday: the words of the other languages would say day and weekday.
        ("0 0 13 * 5", None, None),
    ],
)
def test_a_schedule_in_the_language_of_the_page(text: str, spanish: str | None, portuguese: str | None) -> None:
    for language, said in (("es", spanish), ("pt", portuguese), ("en", None)):
        means, spoken = meaning_in(language, text, None)
        assert (means, spoken) == ((said, language) if said is not None else (means, "en"))
        assert not re.search("Monday|January", means) or spoken == "en"
    assert meaning_in("es", "@daily", 1_800_000_000_000)[0] == "A las 00:00 (UTC); próxima vez 2027-01-15 08:00"
