"""``python -m tests.errors.beginners``: the first mistakes of beginners, and what the command says of each."""

from __future__ import annotations

from tests.errors.corpus import CASES, cases

#: Names of cases. A port that is in use is no case: what is shown of it depends on the machine.
MISTAKES = (
    "tabs_and_spaces",
    "let_with_equals",
    "typographic_quotes",
    "missing_closing_bracket",
    "braces_around_a_block",
    "let_list_with_equals",
    "undefined_variable",
    "misspelt_builtin",
    "misspelt_field",
    "misspelt_capability",
    "misspelt_flag",
    "too_few_arguments",
    "text_plus_number",
    "equals_in_a_condition",
    "let_without_be",
    "missing_require",
    "index_out_of_range",
    "field_of_nothing",
)


def main() -> None:
    known = {case.name: case for case in cases()}
    for name in MISTAKES:
        program = (CASES / f"{name}.lang").read_text(encoding="utf-8").partition("\n")[2]
        command = " ".join(known[name].words)
        print(f"## {name.replace('_', ' ')}\n\n{program}\n$ lang {command}\n{known[name].expected.read_text(encoding='utf-8')}")


if __name__ == "__main__":
    main()
