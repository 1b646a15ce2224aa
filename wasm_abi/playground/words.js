// Written by wasm_abi/playground/generate.py from language/syntax/tokens.py and the registry of builtins.

export const KEYWORDS = {
    "allow": "reserved", "analyze": "keyword", "and": "operator", "and_then": "reserved", "as": "keyword", "be": "keyword",
    "decide": "keyword", "deny": "reserved", "each": "keyword", "false": "constant", "generate": "keyword", "give": "keyword",
    "in": "operator", "intent": "keyword", "invariant": "keyword", "is": "keyword", "let": "keyword", "match": "keyword",
    "not": "operator", "nothing": "constant", "of": "operator", "or": "operator", "otherwise": "keyword", "reason": "keyword",
    "recover": "keyword", "repeat": "reserved", "require": "keyword", "sandbox": "keyword", "set": "keyword", "stop": "keyword",
    "task": "keyword", "then": "keyword", "to": "keyword", "true": "constant", "try": "keyword", "type": "keyword",
    "verify": "reserved", "wait_for": "keyword", "when": "keyword", "while": "keyword", "with": "keyword",
};

export const STARTERS = [
    "agent", "auth", "bind", "checkpoint", "cors", "describe", "docs", "domain", "enum", "errors", "expect", "host", "log",
    "max_body", "max_streams", "measure", "mount", "observe", "private", "proxy", "raise", "rate_limit", "redirect", "route",
    "routes", "send", "serve", "share", "signal", "socket", "spawn", "static", "stream", "test", "timeout", "tls", "trace",
    "trust", "use",
];

export const EXPORTABLE = [
    "enum", "let", "routes", "task", "type",
];

export const DESCRIBE_CLAUSES = [
    "about", "api", "version",
];

export const GATE_WORDS = [
    "approve", "ask", "confirm", "show",
];

export const INFIX_WORDS = [
    "across", "between", "for", "given", "timeout", "within",
];

export const OPERATORS = [
    "...", "!=", "**", "->", "//", "<=", "==", "=>", ">=", "|>", "%", "(", ")", "*", "+", ",", "-", ".", "/", ":", "<", "=",
    ">", "[", "]", "{", "}",
];

export const BUILTINS = [
    "abs", "acos", "acosh", "algorand_account", "algorand_params", "algorand_wait", "append", "append_file", "apply", "arg",
    "argmax", "argmin", "args", "as_secret", "asin", "asinh", "assert", "assert_eq", "assert_error", "assert_ne", "atan",
    "atan2", "atanh", "bearer", "beta", "binary", "btc_balance", "btc_fee_estimates", "btc_rpc", "btc_utxos", "btc_wait",
    "bytes", "bytes_to_int", "call", "call_tool", "capture", "cbrt", "ceil", "chart", "chart_svg", "chunk", "clamp",
    "clear_cookie", "code", "collect", "complex", "conj", "constant_time_eq", "contains", "content", "corr", "cos", "cosh",
    "count", "count_by", "count_missing", "count_where", "cov", "created", "cron_after", "cron_cancel", "cron_every",
    "cron_list", "cron_status", "csv_encode", "csv_parse", "cumsum", "cwd", "date_parts", "db_close", "db_open", "decimal",
    "decode", "degrees", "delete_dir", "delete_file", "diff", "drop_missing", "edit_file", "ends_with", "enumerate", "env",
    "eprint", "erf", "erfc", "eth_balance", "eth_call", "eth_chain_id", "eth_estimate_gas", "eth_fee_history", "eth_gas_price",
    "eth_nonce", "eth_receipt", "eth_rpc", "eth_wait_receipt", "every", "evm_balance", "evm_block_number", "evm_call",
    "evm_chain_id", "evm_estimate_gas", "evm_fee_history", "evm_gas_price", "evm_logs", "evm_nonce", "evm_receipt", "evm_rpc",
    "evm_wait", "exit", "exp", "factorial", "fail", "fetch", "file_exists", "file_info", "fill_missing", "fill_nan", "find_all",
    "find_first", "first_of", "flatten", "float", "floor", "flush", "fmt", "fold", "fold_text", "forget_memory", "format_time",
    "gamma", "gcd", "get", "grep", "group_by", "heading", "hex", "histogram", "hmac", "hmac_sha256", "html", "http",
    "http_bytes", "http_delete", "http_get", "http_post", "http_put", "hypot", "imag", "image", "index_of", "insert", "int",
    "int_to_bytes", "int_to_bytes_le", "is_array", "is_bytes", "is_complex", "is_decimal", "is_finite", "is_infinite",
    "is_integer", "is_list", "is_map", "is_missing", "is_nan", "is_text", "items", "join", "json_decode", "json_encode",
    "json_for_script", "jsonl_decode", "jsonl_encode", "jwt_sign", "jwt_verify", "keccak256", "keys", "lcm", "length", "lgamma",
    "link", "list", "list_dir", "llm_available", "llm_usage", "ln", "log10", "log2", "log_base", "lower", "markdown", "matches",
    "max", "max_of", "mcp_call", "mcp_close", "mcp_connect", "mcp_reply", "mcp_tools", "mean", "mean_of", "median", "median_of",
    "memory_summary", "merge", "min", "min_of", "mode", "n_unique_of", "not_found", "now", "number", "ok", "ordered_list",
    "page", "paged", "parallel_map", "parse_time", "password_hash", "password_verify", "percentile", "pivot", "pow", "print",
    "product", "prose", "quantile", "quantile_of", "radians", "raise", "random", "random_bytes", "random_int", "range", "raw",
    "read_file", "read_file_bytes", "read_line", "real", "recall", "redirect", "redis_decr", "redis_del", "redis_exists",
    "redis_expire", "redis_get", "redis_hdel", "redis_hget", "redis_hgetall", "redis_hincrby", "redis_hset", "redis_incr",
    "redis_incrby", "redis_keys", "redis_llen", "redis_lock", "redis_lpop", "redis_lpush", "redis_lrange", "redis_mget",
    "redis_mset", "redis_persist", "redis_rpop", "redis_rpush", "redis_sadd", "redis_set", "redis_sismember", "redis_smembers",
    "redis_srem", "redis_ttl", "redis_type", "redis_unlock", "reduce", "regex_capture", "regex_find_all", "regex_replace",
    "remember", "remove", "render", "replace", "replace_re", "replace_text", "respond", "reveal", "reverse", "round",
    "round_to", "run", "secret", "section", "set_cookie", "sha256", "sha512", "sha512_256", "shutdown", "sign", "sin", "sinh",
    "sleep", "slice", "solana_balance", "solana_confirm", "solana_latest_blockhash", "solana_rpc", "solana_wait", "some",
    "sort", "sort_by", "spl_balance", "split", "sql", "sql_batch", "sql_exec", "sql_tables", "sqrt", "starts_with", "state_all",
    "state_delete", "state_get", "state_incr", "state_set", "std", "steps", "strip_ansi", "sum", "sum_of", "summarize", "tan",
    "tanh", "text", "token", "toml_encode", "toml_parse", "totp", "totp_verify", "transform", "trim", "trunc", "type_of",
    "unique", "upper", "uuid", "values", "var", "verify_hmac", "watch", "watch_close", "watch_next", "where", "with_header",
    "write_file", "ws_broadcast", "ws_close", "ws_recv", "ws_send", "ws_status", "zip_with",
];
