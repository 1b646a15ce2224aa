"""What signs in, against a model: tokens and sessions hold exactly as long as nothing has ended them, whatever the order."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule, run_state_machine_as_test
from sqlalchemy import update

from platform_api.accounts import administration
from platform_api.accounts.housekeeping import prune_accounts
from platform_api.accounts.principal import ALL_SCOPES, SCOPES
from platform_api.accounts.records import make_account
from platform_api.accounts.sessions import IDLE, end_session, session_of, start_session
from platform_api.accounts.sign_in_links import make_sign_in_link, use_sign_in_link
from platform_api.accounts.tokens import digest, list_tokens, make_token, principal_of, revoke_token
from platform_api.identifiers import new_id
from platform_api.moments import DAY, now
from platform_api.refusals import Refusal
from platform_api.settings import Settings
from platform_api.store.store import Store
from platform_api.store.tables import sessions, tokens

DAYS = 90


class Credentials(RuleBasedStateMachine):
    """One store, one model."""

    accounts: Bundle[str] = Bundle("accounts")
    made_tokens: Bundle[tuple[str, str, str]] = Bundle("made_tokens")
    cookies: Bundle[tuple[str, str]] = Bundle("cookies")
    links: Bundle[tuple[str, str]] = Bundle("links")

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.store = store
        self.settings = Settings(data=Path())
        self.example = new_id("at").replace("_", "-")
        self.numbers = 0
        self.open: dict[str, bool] = {}
        self.tokens: dict[str, tuple[str, str, frozenset[str]]] = {}  # those that hold while their account is open
        self.sessions: dict[str, str] = {}
        self.links_of: dict[str, str] = {}
        self.dead: set[str] = set()

    def do(self, operation: Any, *args: Any, **options: Any) -> Any:
        with self.store.main.writing() as connection:
            return operation(connection, *args, **options)

    def end_tokens(self, account: str, via: str) -> None:
        for token in [token for token, found in self.tokens.items() if found[:2] == (account, via)]:
            del self.tokens[token]
            self.dead.add(token)

    def end_sessions(self, account: str) -> None:
        for value in [value for value, of in self.sessions.items() if of == account]:
            del self.sessions[value]
            self.dead.add(value)

    @rule(target=accounts)
    def account(self) -> str:
        self.numbers += 1
        made = str(self.do(make_account, f"{self.numbers}@{self.example}.example.com", password_hash="x"))
        self.open[made] = True
        return made

    @rule(
        target=made_tokens,
        account=accounts,
        via=st.sampled_from(["login", "device", "token"]),
        scopes=st.sets(st.sampled_from(SCOPES), min_size=1),
    )
    def token(self, account: str, via: str, scopes: set[str]) -> tuple[str, str, str]:
        token_id, token = self.do(make_token, account, "x", sorted(scopes), via)
        self.tokens[token] = (account, via, ALL_SCOPES if scopes == set(SCOPES) else frozenset(scopes))
        return account, token_id, token

    @rule(target=cookies, account=accounts)
    def session(self, account: str) -> tuple[str, str]:
        value = self.do(start_session, account, "127.0.0.1")
        self.sessions[value] = account
        return account, value

    @rule(found=made_tokens, other=accounts)
    def revoke(self, found: tuple[str, str, str], other: str) -> None:
        account, token_id, token = found
        try:
            self.do(revoke_token, other, token_id)
            # One that was not used for too long holds no more, and is listed until somebody revokes it.
            assert other == account and (token in self.tokens or token in self.dead), "it was somebody else's"
            self.tokens.pop(token, None)
            self.dead.add(token)
        except Refusal as refusal:
            assert refusal.code == "not_found" and (other != account or token not in self.tokens)

    @rule(found=made_tokens)
    def let_a_token_lie(self, found: tuple[str, str, str]) -> None:
        old = now() - DAYS * DAY - 1000
        self.do(lambda c: c.execute(update(tokens).where(tokens.c.digest == digest(found[2])).values(last_used_at=old)))
        self.tokens.pop(found[2], None)
        self.dead.add(found[2])

    @rule(found=cookies)
    def sign_out(self, found: tuple[str, str]) -> None:
        self.do(end_session, digest(found[1]))
        self.sessions.pop(found[1], None)
        self.dead.add(found[1])

    @rule(found=cookies)
    def let_a_session_lie(self, found: tuple[str, str]) -> None:
        old = now() - IDLE - 1000
        self.do(lambda c: c.execute(update(sessions).where(sessions.c.digest == digest(found[1])).values(last_used_at=old)))
        self.sessions.pop(found[1], None)
        self.dead.add(found[1])

    @rule(account=accounts)
    def close(self, account: str) -> None:
        self.do(administration.set_disabled, account, True)
        self.open[account] = False
        self.end_sessions(account)
        self.links_of.pop(account, None)

    @rule(account=accounts)
    def open_again(self, account: str) -> None:
        self.do(administration.set_disabled, account, False)
        self.open[account] = True

    @rule(account=accounts)
    def reset(self, account: str) -> None:
        self.do(administration.reset_password, account, "y")
        self.end_sessions(account)
        self.end_tokens(account, "login")
        self.links_of.pop(account, None)

    @rule(target=links, account=accounts)
    def link(self, account: str) -> tuple[str, str]:
        value = self.do(make_sign_in_link, self.settings, account).rpartition("/")[2]
        self.links_of[account] = value
        return account, value

    @rule(found=consumes(links))
    def follow(self, found: tuple[str, str]) -> None:
        account, value = found
        try:
            self.do(use_sign_in_link, value, "z")
        except Refusal as refusal:
            assert refusal.code == "not_found" and not (self.open[account] and self.links_of.get(account) == value)
            return
        assert self.open[account] and self.links_of.pop(account) == value
        self.end_sessions(account)
        self.end_tokens(account, "login")

    @rule()
    def sweep(self) -> None:
        self.do(prune_accounts, DAYS)

    @invariant()
    def what_holds_holds(self) -> None:
        with self.store.main.reading() as connection:
            for token, (account, via, scopes) in self.tokens.items():
                found = principal_of(connection, token, DAYS)
                assert (found is not None) == self.open[account]
                if found is not None:
                    assert (found[0].account_id, found[0].via, found[0].scopes) == (account, via, scopes)
            for value, account in self.sessions.items():
                session = session_of(connection, value)
                assert (session is not None) == self.open[account]
                assert session is None or session.principal.account_id == account
            for ended in self.dead:
                assert principal_of(connection, ended, DAYS) is None and session_of(connection, ended) is None
            for account in self.open:
                listed = {row.digest for row in list_tokens(connection, account, DAYS, 500)}
                assert listed == {digest(token) for token, found in self.tokens.items() if found[0] == account}


def test_what_holds_holds_and_what_has_ended_stays_so(store: Store) -> None:
    run_state_machine_as_test(
        partial(Credentials, store),  # type: ignore[arg-type]
        settings=settings(max_examples=20, stateful_step_count=25, deadline=None),
    )
