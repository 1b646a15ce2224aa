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
    "abs", "acos", "acosh", "add_days", "add_months", "add_rule", "aes_gcm_decrypt", "aes_gcm_encrypt", "agent_restart",
    "agent_stop", "agent_wait", "agents", "algorand_account", "algorand_params", "algorand_wait", "append", "append_file",
    "apply", "arange", "arg", "argmax", "argmin", "args", "array", "as_secret", "asin", "asinh", "assert", "assert_eq",
    "assert_error", "assert_ne", "at", "atan", "atan2", "atanh", "bearer", "beta", "binary", "btc_balance", "btc_fee_estimates",
    "btc_rpc", "btc_utxos", "btc_wait", "bus_publish", "bus_recv", "bus_subscribe", "bus_topics", "bus_unsubscribe", "bytes",
    "bytes_to_int", "call", "call_tool", "capture", "cbrt", "ceil", "chart", "chart_svg", "check_rules", "choice", "chunk",
    "clamp", "clear_cookie", "code", "collect", "complete_step", "complex", "conj", "constant_time_eq", "contains", "content",
    "corr", "cos", "cosh", "count", "count_by", "count_missing", "count_where", "cov", "create_progress", "created",
    "cron_after", "cron_cancel", "cron_every", "cron_list", "cron_status", "csv_encode", "csv_parse", "cumsum", "cwd", "date",
    "date_parts", "date_range", "datetime", "db_close", "db_open", "decimal", "decode", "degrees", "delete_dir", "delete_file",
    "det", "diff", "dot", "drop_missing", "duration", "ecdh_keypair", "ecdh_public", "ecdh_shared_secret", "ed25519_pubkey",
    "ed25519_sign", "ed25519_verify", "edit_file", "eig", "ends_with", "enumerate", "env", "eprint", "erf", "erfc",
    "eth_balance", "eth_call", "eth_chain_id", "eth_estimate_gas", "eth_fee_history", "eth_gas_price", "eth_nonce",
    "eth_receipt", "eth_rpc", "eth_wait_receipt", "every", "evm_balance", "evm_block_number", "evm_call", "evm_chain_id",
    "evm_estimate_gas", "evm_fee_history", "evm_gas_price", "evm_logs", "evm_nonce", "evm_receipt", "evm_rpc", "evm_wait",
    "exit", "exp", "eye", "factorial", "fail", "fail_step", "fetch", "file_exists", "file_info", "fill_missing", "fill_nan",
    "find_all", "find_first", "first_of", "flatten", "float", "floor", "flush", "fmt", "fold", "fold_text", "forget_memory",
    "format_time", "full", "gamma", "gcd", "get", "get_rules", "grep", "group_by", "gzip_compress", "gzip_decompress",
    "heading", "hex", "histogram", "hkdf_sha256", "hmac", "hmac_sha256", "html", "http", "http_bytes", "http_delete",
    "http_get", "http_post", "http_put", "hypot", "identity", "imag", "image", "in_units", "index_of", "insert", "int",
    "int_to_bytes", "int_to_bytes_le", "inv", "is_array", "is_bytes", "is_complex", "is_decimal", "is_finite", "is_infinite",
    "is_integer", "is_list", "is_map", "is_missing", "is_nan", "is_text", "items", "join", "json_decode", "json_encode",
    "json_for_script", "jsonl_decode", "jsonl_encode", "jwt_sign", "jwt_verify", "keccak256", "keys", "lcm", "length", "lgamma",
    "link", "linspace", "list", "list_dir", "llm_available", "llm_chat", "llm_limit", "llm_step", "llm_stream", "llm_usage",
    "ln", "log10", "log2", "log_base", "lower", "markdown", "matches", "matmul", "max", "max_of", "mcp_call", "mcp_close",
    "mcp_connect", "mcp_reply", "mcp_tools", "mcp_toolset", "mean", "mean_of", "median", "median_of", "memory_summary", "merge",
    "min", "min_of", "mode", "multipart_encode", "n_unique_of", "ndim", "norm", "not_found", "now", "number", "ok", "ones",
    "ordered_list", "pad_left", "pad_right", "page", "paged", "parallel_map", "parse_date", "parse_datetime", "parse_time",
    "password_hash", "password_verify", "percentile", "pivot", "pow", "print", "proc_close", "proc_close_stdin", "proc_kill",
    "proc_recv", "proc_send", "proc_spawn", "proc_stats", "proc_status", "proc_wait", "product", "progress_display",
    "progress_percent", "prose", "quantile", "quantile_of", "query_encode", "query_parse", "radians", "raise", "random",
    "random_bytes", "random_int", "random_normal", "range", "raw", "read_file", "read_file_bytes", "read_line", "real",
    "recall", "recall_ranked", "redirect", "redis_decr", "redis_del", "redis_exists", "redis_expire", "redis_get", "redis_hdel",
    "redis_hget", "redis_hgetall", "redis_hincrby", "redis_hset", "redis_incr", "redis_incrby", "redis_keys", "redis_llen",
    "redis_lock", "redis_lpop", "redis_lpush", "redis_lrange", "redis_mget", "redis_mset", "redis_persist", "redis_rpop",
    "redis_rpush", "redis_sadd", "redis_set", "redis_sismember", "redis_smembers", "redis_srem", "redis_ttl", "redis_type",
    "redis_unlock", "reduce", "regex_capture", "regex_find_all", "regex_replace", "remember", "remove", "render", "repeat_text",
    "replace", "replace_re", "replace_text", "reshape", "respond", "resume_point", "retry", "reveal", "reverse", "rng",
    "rng_spawn", "round", "round_to", "run", "sample", "secret", "section", "select", "set_cookie", "sha256", "sha512",
    "sha512_256", "shape", "share_change", "shuffle", "shutdown", "sign", "sin", "sinh", "size", "sleep", "slice",
    "solana_balance", "solana_confirm", "solana_latest_blockhash", "solana_rpc", "solana_wait", "solve", "some", "sort",
    "sort_by", "spl_balance", "split", "sql", "sql_batch", "sql_exec", "sql_tables", "sqrt", "start_step", "starts_with",
    "state_all", "state_delete", "state_get", "state_incr", "state_set", "std", "steps", "strip_ansi", "sum", "sum_of",
    "summarize", "svd", "tan", "tanh", "tar_create", "tar_extract", "term_clear", "term_cursor", "term_key", "term_move",
    "term_size", "term_style", "text", "time_limit", "timestamp", "to_fixed", "to_list", "to_timezone", "token", "toml_encode",
    "toml_parse", "tool_loop", "totp", "totp_verify", "trace", "transform", "transpose", "trim", "trunc", "truncate", "type_of",
    "unique", "upper", "url_build", "url_decode", "url_encode", "url_parse", "uuid", "validate", "values", "var", "verify_hmac",
    "watch", "watch_close", "watch_next", "where", "with_header", "write_file", "ws_broadcast", "ws_close", "ws_connect",
    "ws_recv", "ws_send", "ws_status", "xml_parse", "zeros", "zip_create", "zip_extract", "zip_with",
];
