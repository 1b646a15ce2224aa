# ruff: noqa: SIM905  (a long list of names is read best as one text)
"""What each builtin does with arguments of hostile sizes: one program for each, and why no limit is escaped by it."""

from __future__ import annotations

#: Values that are cheap to make and large to work on, each within the memory of the probes.
LARGE = {
    "txt": 'let txt be "0123456789abcdef"\neach i in range(20)\n    set txt to txt + txt\n',
    "uni": 'let uni be "aß漢,"\neach i in range(20)\n    set uni to uni + uni\n',
    "marked": 'let marked be "<b>*a* &\\n"\neach i in range(20)\n    set marked to marked + marked\n',
    "digits": 'let digits be "1234567891234567"\neach i in range(20)\n    set digits to digits + digits\n',
    "blob": 'let blob be bytes("0123456789abcdef")\neach i in range(20)\n    set blob to blob + blob\n',
    "nums": "let nums be [3, 1, 4, 1, 5, 9, 2, 6]\neach i in range(17)\n    set nums to nums + nums\n",
    "floats": "let floats be [3.5, 1.5, 4.5, 0.1, 5.5, 9.5, 2.5, 6]\neach i in range(17)\n    set floats to floats + floats\n",
    "hashed": "let hashed be apply(range(100000), (x) => x * 2305843009213693951)\n",
    "shared": 'let one be "0123456789abcdef"\neach i in range(20)\n    set one to one + one\nlet shared be [one]\n'
    "each i in range(11)\n    set shared to shared + shared\n",
    "lists": "let lists be [[1, 2], [3, 4]]\neach i in range(19)\n    set lists to lists + lists\n",
    "rows": 'let rows be [{"a": 1, "b": 2}, {"a": 2, "b": 3}]\neach i in range(18)\n    set rows to rows + rows\n',
    "wide": "let wide be {}\neach i in range(60000)\n    set wide[text(i)] to i\n",
    "vast": "let vast be bytes_to_int(slice(blob, 0, 1000000))\n",
    "vasts": "let vasts be [bytes_to_int(slice(blob, 0, 200000))]\neach i in range(14)\n    set vasts to vasts + vasts\n",
    "many": "let many be 2 ** 40\n",
}

#: An argument is compared with a bound before the work begins: the program gets an error.
CHECKED = "bounded by a quick argument check"
#: The work is done in pieces between which limits are seen: it ends, or a limit ends it.
POLLED = "polled"
#: The work is at most in proportion to an argument that is bounded itself: it ends.
LINEAR = "linear with capped input"

MATHEMATICS = (
    "floor ceil trunc round abs sign sqrt exp ln log10 log2 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh cbrt "
    "radians degrees is_nan is_infinite is_finite real imag conj arg gamma lgamma erf erfc"
).split()
STATISTICS = "sum product min max argmin argmax mean var std median cumsum diff".split()
KINDS = "is_integer is_text is_list is_map is_decimal is_bytes is_complex is_array".split()
COLUMNS = "sum_of mean_of min_of max_of median_of first_of n_unique_of".split()

CHAIN = 'require net("*")\n'
DATABASE = 'require db(":memory:")\nlet db be db_open(":memory:")\n'
REDIS = 'require db("*")\nlet db be db_open(address)\n'
FOREVER = "with recursive c(x) as (select 1 union all select x + 1 from c)"
KEY = '"0123456789abcdef0123456789abcdef"'

#: For each builtin why no limit is escaped, and the program that is run to see it.
PROBES: dict[str, tuple[str, str]] = {
    # core
    "print": (POLLED, "print(shared)"),
    "eprint": (POLLED, "eprint(shared)"),
    "exit": (LINEAR, "exit(vast)"),
    "shutdown": (LINEAR, "shutdown()"),
    "steps": (LINEAR, "steps()"),
    "flush": (LINEAR, "flush()"),
    "read_line": (LINEAR, "read_line(txt)"),
    "args": (LINEAR, "args()"),
    "length": (LINEAR, "length(uni)"),
    "type_of": (LINEAR, "type_of(shared)"),
    **{name: (LINEAR, f"{name}(vasts)") for name in KINDS},
    "text": (POLLED, "text(shared)"),
    "number": (LINEAR, "number(digits)"),
    "int": (LINEAR, "int(digits)"),
    "float": (LINEAR, "float(digits)"),
    "decimal": (CHECKED, 'decimal("1e999999999")'),
    "hex": (LINEAR, "hex(vast)"),
    "append": (LINEAR, "each i in range(100000)\n    set nums to append(nums, i)"),
    "insert": (POLLED, "each i in range(100000)\n    set nums to insert(nums, 0, i)"),
    "get": (LINEAR, "get(nums, vast, 0)"),
    "remove": (POLLED, "each i in range(60000)\n    set wide to remove(wide, text(i))"),
    "merge": (POLLED, "each i in range(10000)\n    set wide to merge(wide, wide)"),
    "items": (POLLED, "items(wide)"),
    "keys": (POLLED, "keys(wide)"),
    "values": (POLLED, "values(wide)"),
    "enumerate": (POLLED, "enumerate(nums + nums + nums)"),
    "contains": (POLLED, 'contains(apply(shared, (t) => slice(t, 0, 16777215) + "x"), one)'),
    "slice": (LINEAR, "slice(nums, 0, vast)"),
    "range": (POLLED, "range(many)"),
    "reverse": (LINEAR, "reverse(uni)"),
    "raise": (POLLED, "raise(shared)"),
    "call": (POLLED, "call((a) => text(a), {\"a\": shared})"),
    "assert": (POLLED, "assert(false, shared)"),
    "assert_eq": (POLLED, "assert_eq(shared, nums)"),
    "assert_ne": (POLLED, "assert_ne(shared, shared)"),
    "assert_error": (POLLED, "assert_error(() => raise(shared))"),
    # text
    "upper": (POLLED, "upper(uni)"),
    "lower": (POLLED, "lower(uni)"),
    "trim": (LINEAR, "trim(txt)"),
    "starts_with": (LINEAR, "starts_with(txt, txt)"),
    "ends_with": (LINEAR, "ends_with(txt, txt)"),
    "split": (POLLED, 'split(uni, ",")'),
    "join": (CHECKED, 'join(shared, ",")'),
    "replace": (CHECKED, 'replace(txt, "a", txt)'),
    "fmt": (CHECKED, f'fmt("{"{s}" * 64}", {{"s": txt}})'),
    "fold_text": (POLLED, "fold_text(uni)"),
    "strip_ansi": (POLLED, "strip_ansi(uni)"),
    # regex
    "matches": (POLLED, 'matches(txt, "(0.*)*x")'),
    "regex_find_all": (POLLED, 'regex_find_all(txt, ".")'),
    "regex_capture": (POLLED, 'regex_capture(txt, "(.*)(.*)x")'),
    "regex_replace": (POLLED, 'regex_replace(txt, "[a-f]", slice(txt, 0, 1000000))'),
    # lists
    "apply": (POLLED, "apply((x) => x, nums)"),
    "where": (POLLED, "where(nums, (x) => true)"),
    "transform": (POLLED, "transform(nums, (x) => [x])"),
    "reduce": (POLLED, "reduce(nums, (a, b) => a * 7 + b, 0)"),
    "sort": (POLLED, "sort(apply(shared, (t) => [t, 1]))"),
    "sort_by": (POLLED, "sort_by(shared, (t) => t)"),
    "group_by": (POLLED, "group_by(hashed, (x) => x)"),
    "count_by": (POLLED, "count_by(hashed)"),
    "find_first": (POLLED, "find_first(nums, (x) => false)"),
    "every": (POLLED, "every(nums, (x) => true)"),
    "some": (POLLED, "some(nums, (x) => false)"),
    "count_where": (POLLED, "count_where(nums, (x) => true)"),
    "zip_with": (POLLED, "zip_with(nums, nums, (x, y) => [x, y])"),
    "collect": (POLLED, 'collect(rows, "a")'),
    "flatten": (POLLED, "flatten(lists)"),
    "unique": (POLLED, "unique(hashed)"),
    "index_of": (POLLED, 'index_of(shared, slice(one, 0, 16777215) + "x")'),
    "chunk": (POLLED, "chunk(nums, 1)"),
    # tables
    "summarize": (POLLED, 'summarize(rows, "a", {"n": count(), "s": sum_of("b")})'),
    "count": (LINEAR, "count(nums)"),
    **{name: (POLLED, f'summarize(rows, "a", {{"n": {name}("b")}})') for name in COLUMNS},
    "quantile_of": (POLLED, 'summarize(rows, "a", {"n": quantile_of("b", 0.5)})'),
    "pivot": (POLLED, 'pivot(apply(range(20000), (i) => {"a": i, "b": i, "c": 1}), "a", "b", "c")'),
    "is_missing": (LINEAR, "is_missing(nums)"),
    "fill_missing": (POLLED, "fill_missing(nums, 1)"),
    "drop_missing": (POLLED, "drop_missing(nums)"),
    "fill_nan": (POLLED, "fill_nan(floats, 1)"),
    "count_missing": (POLLED, "count_missing(nums)"),
    "mode": (POLLED, "mode(hashed)"),
    # mathematics
    **{name: (LINEAR, f"{name}(vast)") for name in MATHEMATICS},
    "round_to": (LINEAR, "round_to(vast, 0 - many)"),
    "clamp": (LINEAR, "clamp(vast, vast, vast)"),
    "log_base": (LINEAR, "log_base(vast, vast)"),
    "hypot": (LINEAR, "hypot(vast, vast)"),
    "atan2": (LINEAR, "atan2(vast, vast)"),
    "pow": (CHECKED, "pow(vast, vast)"),
    "gcd": (POLLED, "gcd(vast, vast + 2)"),
    "lcm": (POLLED, "lcm(vast, vast + 2)"),
    "factorial": (CHECKED, "factorial(many)"),
    "complex": (LINEAR, "complex(vast, vast)"),
    "beta": (LINEAR, "beta(vast, vast)"),
    # statistics
    **{name: (POLLED, f"{name}(vasts)") for name in STATISTICS},
    "percentile": (POLLED, "percentile(floats, 50)"),
    "quantile": (POLLED, "quantile(floats, 0.5)"),
    "cov": (POLLED, "cov(floats, floats)"),
    "corr": (POLLED, "corr(floats, floats)"),
    "histogram": (CHECKED, "histogram(floats, many)"),
    # encoding
    "bytes": (POLLED, 'bytes(digits, "base58")'),
    "decode": (POLLED, 'decode(blob, "base58")'),
    "bytes_to_int": (LINEAR, "bytes_to_int(blob)"),
    "int_to_bytes": (CHECKED, "int_to_bytes(1, many)"),
    "int_to_bytes_le": (CHECKED, "int_to_bytes_le(1, many)"),
    # hashing
    **{name: (LINEAR, f"{name}(uni)") for name in ("sha256", "sha512", "sha512_256")},
    "keccak256": (POLLED, "keccak256(uni)"),
    "hmac": (LINEAR, "hmac(txt, txt)"),
    "verify_hmac": (LINEAR, 'verify_hmac(txt, "00", txt)'),
    "constant_time_eq": (LINEAR, "constant_time_eq(txt, txt)"),
    # formats
    "json_encode": (POLLED, "json_encode(shared)"),
    "json_for_script": (POLLED, "json_for_script(shared)"),
    "json_decode": (POLLED, 'json_decode("[" + replace(slice(txt, 0, 8000000), "0123456789abcdef", "[[1]],{},[],{},") + "1]")'),
    "jsonl_encode": (POLLED, "jsonl_encode(shared)"),
    "jsonl_decode": (POLLED, 'jsonl_decode(replace(slice(txt, 0, 8000000), "0123456789abcdef", "1\\n[]\\n{}\\n[1]\\n2"))'),
    "csv_parse": (POLLED, "csv_parse(uni)"),
    "csv_encode": (POLLED, 'csv_encode(apply(shared, (t) => {"a": t}))'),
    "toml_parse": (POLLED, 'toml_parse("a = [" + replace(slice(txt, 0, 4000000), "0123456789abcdef", "1,2,3,4,5,6,") + "1]")'),
    "toml_encode": (POLLED, 'toml_encode({"a": shared})'),
    # time and randomness
    "format_time": (POLLED, "format_time(0, txt)"),
    "parse_time": (POLLED, "parse_time(txt, txt)"),
    "date_parts": (CHECKED, "date_parts(vast)"),
    "now": (LINEAR, "require time\nnow()"),
    "sleep": (POLLED, "require time\nsleep(3600)"),
    "random": (LINEAR, "require random\nrandom()"),
    "random_int": (LINEAR, "require random\nrandom_int(0, vast)"),
    "uuid": (LINEAR, "require random\nuuid()"),
    "random_bytes": (CHECKED, "require random\nrandom_bytes(many)"),
    "token": (CHECKED, "require random\ntoken(many)"),
    # environment and secrets
    "env": (LINEAR, 'require env("*")\nenv(txt, "")'),
    "secret": (LINEAR, 'require secret("*")\nsecret(txt, "")'),
    "as_secret": (LINEAR, "as_secret(txt, txt)"),
    "bearer": (LINEAR, "bearer(txt)"),
    "reveal": (LINEAR, 'require reveal("*")\nreveal(as_secret(txt, "a"))'),
    "password_hash": (POLLED, "password_hash(txt)"),
    "password_verify": (CHECKED, 'password_verify("a", "$argon2id$v=19$m=4194304,t=1000000,p=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNo")'),
    "jwt_sign": (POLLED, f'jwt_sign({{"a": shared}}, {KEY})'),
    "jwt_verify": (LINEAR, f"jwt_verify(txt, {KEY})"),
    "totp": (LINEAR, 'totp("JBSWY3DPEHPK3PXP", {"at": vast})'),
    "totp_verify": (LINEAR, 'totp_verify("JBSWY3DPEHPK3PXP", digits)'),
    # files and processes
    "read_file": (CHECKED, 'require file.read("*")\nread_file("sparse")'),
    "read_file_bytes": (CHECKED, 'require file.read("*")\nread_file_bytes("sparse")'),
    "list_dir": (LINEAR, 'require file.read("*")\nlist_dir(txt)'),
    "cwd": (LINEAR, "cwd()"),
    "file_info": (LINEAR, 'require file.read("*")\nfile_info(txt)'),
    "file_exists": (LINEAR, 'require file.read("*")\nfile_exists(txt)'),
    "grep": (POLLED, 'require file.read("*")\ngrep("sparse", "(a|b)*x", {"regex": true})'),
    "write_file": (LINEAR, 'require file.write("*")\nwrite_file("out", txt)'),
    "append_file": (POLLED, 'require file.write("*")\neach i in range(100)\n    append_file("added", slice(txt, 0, 100000))'),
    "edit_file": (CHECKED, 'require file\nedit_file("sparse", "a", txt)'),
    "delete_file": (LINEAR, 'require file.write("*")\ndelete_file(txt)'),
    "delete_dir": (LINEAR, 'require file.write("*")\ndelete_dir(txt)'),
    "watch": (LINEAR, 'require file.read("*")\nwatch(txt)'),
    "watch_next": (POLLED, 'require file.read("*")\nwatch_next(watch("."), 3600)'),
    "watch_close": (LINEAR, "watch_close(txt)"),
    "run": (POLLED, 'require exec("*")\nrun("yes", [])'),
    # network: what comes back is bounded where it is read
    "fetch": (POLLED, CHAIN + 'fetch("http://127.0.0.1:9/" + txt)'),
    "http": (POLLED, CHAIN + 'http("POST", "http://127.0.0.1:9/", {"a": txt}, {"q": txt}, shared)'),
    "http_get": (POLLED, CHAIN + 'http_get("http://127.0.0.1:9/", {}, {"q": txt})'),
    "http_post": (POLLED, CHAIN + 'http_post("http://127.0.0.1:9/", shared)'),
    "http_put": (POLLED, CHAIN + 'http_put("http://127.0.0.1:9/", shared)'),
    "http_delete": (POLLED, CHAIN + 'http_delete("http://127.0.0.1:9/" + txt)'),
    "http_bytes": (POLLED, CHAIN + 'http_bytes("POST", "http://127.0.0.1:9/", {}, {}, blob)'),
    **{
        name: (POLLED, CHAIN + f'{name}("http://127.0.0.1:9/", "m", shared)')
        for name in ("evm_rpc", "solana_rpc", "btc_rpc")
    },
    **{
        name: (POLLED, CHAIN + f'{name}("http://127.0.0.1:9/" + txt)')
        for name in (
            "evm_gas_price evm_chain_id evm_block_number evm_fee_history solana_latest_blockhash algorand_params "
            "btc_fee_estimates"
        ).split()
    },
    **{
        name: (POLLED, CHAIN + f'{name}("http://127.0.0.1:9/", txt)')
        for name in "algorand_account algorand_wait btc_utxos btc_balance btc_wait".split()
    },
    **{
        name: (CHECKED, CHAIN + f'{name}("http://127.0.0.1:9/", txt)')
        for name in "evm_nonce evm_balance evm_receipt evm_wait solana_balance solana_wait".split()
    },
    **{
        name: (POLLED, CHAIN + f'{name}("http://127.0.0.1:9/", {{"to": txt, "data": txt}})')
        for name in ("evm_estimate_gas", "evm_call")
    },
    "evm_logs": (POLLED, CHAIN + 'evm_logs("http://127.0.0.1:9/", {"address": txt, "topics": shared})'),
    "spl_balance": (CHECKED, CHAIN + 'spl_balance("http://127.0.0.1:9/", txt, txt)'),
    "mcp_connect": (POLLED, CHAIN + 'mcp_connect("http://127.0.0.1:9/" + txt)'),
    "mcp_tools": (CHECKED, CHAIN + "mcp_tools(txt)"),
    "mcp_call": (CHECKED, CHAIN + 'mcp_call(txt, "a", {"a": shared})'),
    "mcp_close": (CHECKED, "mcp_close(txt)"),
    # pages
    "render": (LINEAR, 'require file.read("*")\nrender(txt, {"a": shared})'),
    "content": (POLLED, "content(page(apply(nums, (n) => prose(text(n)))))"),
    "page": (POLLED, "page(apply(nums, (n) => prose(text(n))), {\"title\": txt})"),
    "section": (POLLED, "section(apply(nums, (n) => prose(text(n))))"),
    "heading": (LINEAR, "heading(1, txt)"),
    "prose": (LINEAR, "prose(txt)"),
    "list": (POLLED, "content(page([list(shared)]))"),
    "ordered_list": (POLLED, "content(page([ordered_list(shared)]))"),
    "link": (LINEAR, 'link(txt, "/" + txt)'),
    "image": (LINEAR, 'image("/" + txt, txt)'),
    "code": (LINEAR, "content(page([code(marked)]))"),
    "raw": (LINEAR, "content(page([raw(marked)]))"),
    "chart_svg": (POLLED, 'chart_svg("line", floats)'),
    "chart": (POLLED, 'chart("bar", floats)'),
    "markdown": (POLLED, "markdown(marked)"),
    # models, memory, state
    "llm_available": (LINEAR, "llm_available()"),
    "llm_usage": (LINEAR, "llm_usage()"),
    "remember": (POLLED, 'require memory("m")\nremember("context", shared)'),
    "recall": (POLLED, 'require memory("m")\nrecall("context", [], txt)'),
    "forget_memory": (LINEAR, 'require memory("m")\nforget_memory(txt)'),
    "memory_summary": (LINEAR, 'require memory("m")\nmemory_summary()'),
    "state_set": (POLLED, 'state_set("a", shared)'),
    "state_get": (LINEAR, "state_get(txt, 0)"),
    "state_incr": (LINEAR, 'state_incr("a", vast)'),
    "state_delete": (LINEAR, "state_delete(txt)"),
    "state_all": (POLLED, "each i in range(100000)\n    state_set(text(i), i)\nstate_all()"),
    # tasks
    "parallel_map": (POLLED, "parallel_map((x) => x, nums, many)"),
    "call_tool": (POLLED, "task t(a)\n    give text(a)\ncall_tool(t, {\"a\": shared})"),
    "mcp_reply": (POLLED, 'mcp_reply({"jsonrpc": "2.0", "id": shared, "method": "x"}, {"name": "n", "tools": {}})'),
    # databases
    "db_open": (LINEAR, 'require db("*")\ndb_open("sparse")'),
    "db_close": (LINEAR, DATABASE + "db_close(db)"),
    "sql": (POLLED, DATABASE + f'sql("{FOREVER} select count(*) from c")'),
    "sql_exec": (POLLED, DATABASE + f'sql_exec("create table t as {FOREVER} select x from c")'),
    "sql_batch": (POLLED, DATABASE + 'sql_exec("create table t (a)")\nsql_batch("insert into t values (?)", lists)'),
    "sql_tables": (LINEAR, DATABASE + "sql_tables()"),
    "paged": (POLLED, DATABASE + f'paged("{FOREVER} select x from c")'),
    **{
        f"redis_{name}": (POLLED, REDIS + f"redis_{name}({given})")
        for names, given in {
            "get del exists type incr decr ttl persist hgetall lpop rpop llen smembers lock": "txt",
            "set hget hdel lpush rpush sadd srem sismember unlock": "txt, txt",
            "keys": '"*"',
            "mget": "shared",
            "mset": "wide",
            "hset": '"h", wide',
            "expire": '"a", vast',
            "incrby": '"n", vast',
            "hincrby": '"h", "n", vast',
            "lrange": '"l", 0, many',
        }.items()
        for name in names.split()
    },
    # replies
    "ok": (POLLED, "ok(shared)"),
    "created": (POLLED, "created(shared)"),
    "not_found": (POLLED, "not_found(shared)"),
    "fail": (LINEAR, "fail(400, txt)"),
    "html": (LINEAR, "html(uni)"),
    "respond": (LINEAR, 'respond(uni, "text/plain")'),
    "binary": (LINEAR, 'binary(blob, "application/octet-stream")'),
    "redirect": (LINEAR, 'redirect("/" + txt)'),
    "with_header": (LINEAR, 'with_header(ok(1), "X-A", txt)'),
    "set_cookie": (LINEAR, 'set_cookie(ok(1), "a", txt)'),
    "clear_cookie": (LINEAR, "clear_cookie(ok(1), txt)"),
    # served programs
    "cron_every": (LINEAR, "cron_every(txt, () => 1)"),
    "cron_after": (CHECKED, "cron_after(vast, () => 1)"),
    "cron_cancel": (LINEAR, "cron_cancel(txt)"),
    "cron_list": (LINEAR, "cron_list()"),
    "cron_status": (LINEAR, "cron_status()"),
    "ws_send": (CHECKED, "ws_send(txt, txt)"),
    "ws_recv": (CHECKED, "ws_recv(txt, vast)"),
    "ws_broadcast": (CHECKED, "ws_broadcast(nums, txt)"),
    "ws_status": (CHECKED, "ws_status(txt)"),
    "ws_close": (CHECKED, "ws_close(txt, vast, txt)"),
}  # fmt: skip
