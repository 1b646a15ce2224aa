/** What names the web build: bytes, a compiled module, a URL, a path (Node, Bun, Deno) or a response. */
export type Source =
    | Uint8Array
    | ArrayBuffer
    | WebAssembly.Module
    | URL
    | string
    | Response;

export interface LoadOptions {
    /** SHA-256 of the module in hexadecimal digits; verified before it is compiled. */
    integrity?: string;
    /** Bytes of the buffer that the asynchronous calls share with their worker; longer answers go in chunks. Default 4 MiB. */
    bufferBytes?: number;
}

/** One capability check. */
export interface AuditRecord {
    /** Unix time in seconds. */
    ts: number;
    capability: string;
    scope: string | null;
    granted: boolean;
    origin: string;
    why: string;
    /** The operation that asked: `read_file()`, `llm operation`; `ambient` and `ceiling` for what was decided at the start. */
    source: string;
    /** A copy of `why`. */
    reason: string;
}

/** A `require` line that was reached, and how many granted checks it covers: 0 when nothing used it. */
export interface DeclaredUse {
    capability: string;
    scope: string | null;
    done: number;
}

export type Limit = "steps" | "time_ms" | "output_bytes" | "memory_bytes" | "call_depth" | "host_calls";
export type Limits = { [name in Limit]?: number };

export interface RunResponse {
    ok: boolean;
    /** One entry for each `print`, `log` and `show`. */
    output: string[];
    /** At most one: the error that ended the program. */
    errors: string[];
    audit: AuditRecord[];
    /** Only when a `require` line was reached. */
    declared?: DeclaredUse[];
    /** What the `llm` hook reported since the instance was made. */
    llm_tokens: number;
    /** Only after `exit(code)`. */
    exit?: number;
    /** The limit that ended the program. */
    limit?: Limit;
}

export interface TestResponse {
    ok: boolean;
    passed: number;
    failed: number;
    /** `✓ name` or `✗ name: message`. */
    lines: string[];
    audit: AuditRecord[];
    declared?: DeclaredUse[];
    limit?: Limit;
}

/** An error or a warning. Lines and columns count from 1, columns in code points, the end exclusive; 0 is unknown. */
export interface Problem {
    severity: "error" | "warning";
    file: string;
    line: number;
    column: number;
    end_line: number;
    end_column: number;
    /** The class of mistake, such as `E0201`. */
    code: string;
    message: string;
    /** How to put it right, or empty. */
    help: string;
}

export interface CheckResponse {
    ok: boolean;
    errors: string[];
    /** The errors with their ranges, and the warnings, which leave `ok` as it is. Only where they are asked for. */
    problems?: Problem[];
}

export interface HandleResponse {
    status: number;
    content_type: string;
    headers: [name: string, value: string][];
    /** Empty where `body_base64` has the bytes. */
    body: string;
    /** The body when it is not UTF-8. */
    body_base64?: string;
    /** What the handler printed; in the first reply of an instance, what the top level printed before it. */
    log: string[];
    errors: string[];
    audit: AuditRecord[];
    /** Of this call; in the first reply of an instance, of the top level, too. */
    declared?: DeclaredUse[];
    limit?: Limit;
}

export interface VersionResponse {
    /** `v<major>.<minor>.<patch>` */
    version: string;
}

/** A request for `handle`. */
export interface ProgramRequest {
    /** Default `GET`. */
    method?: string;
    /** Default `/`; may carry a query. */
    path?: string;
    headers?: Iterable<readonly [name: string, value: string]> | Record<string, string> | null;
    body?: string | Uint8Array | ArrayBuffer | null;
    body_base64?: string;
    /** The client's address. */
    ip?: string;
}

/** What a program asks of the `http` hook, after its grant for the host of the URL. */
export interface HttpRequest {
    method: string;
    url: string;
    headers: [name: string, value: string][];
    /** Seconds. */
    timeout: number;
    body?: string | null;
    /** Instead of `body` when it is not UTF-8. */
    body_base64?: string;
}

export type HttpAnswer =
    | {
          status: number;
          headers?: Iterable<readonly [name: string, value: string]> | Record<string, string>;
          body?: string | Uint8Array | ArrayBuffer | null;
          body_base64?: string;
      }
    | Failure;

export interface Failure {
    error: string;
}

export type LlmAnswer = string | { content: string; tokens?: number } | Failure;
export type LlmOperation = "reason" | "decide" | "analyze" | "generate" | "step" | "stream" | (string & {});

/**
 * What a program may borrow. What is not there is not lent, whatever the program does. An exception in a hook is an error that
 * the program sees. In the synchronous calls hooks answer at once, in the asynchronous ones they may answer with a Promise.
 */
export interface Host {
    /** Must not follow a redirect to another host: the program's grant names this one. */
    http?(request: HttpRequest): HttpAnswer | Promise<HttpAnswer>;
    kv?: Store;
    llm?(operation: LlmOperation, prompt: string): LlmAnswer | Promise<LlmAnswer>;
    /** Warnings of the runtime, and what programs write with `eprint`. */
    log?(line: string): unknown;
    /** `true`: the wrapper itself waits. */
    sleep?: true | ((seconds: number) => unknown);
}

/** Texts by namespace and key. */
export interface Store {
    get(namespace: string, key: string): MaybeLater<string | null | undefined | { value: string | null } | Failure>;
    set?(namespace: string, key: string, value: string): unknown;
    delete?(namespace: string, key: string): unknown;
    list?(namespace: string): MaybeLater<Iterable<string> | { keys: string[] } | Failure>;
}

export type MaybeLater<T> = T | Promise<T>;

export interface Options {
    /** Used in positions of errors; default `<embedded>`. */
    filename?: string;
    /** All that `env()` and `secret()` see. */
    env?: Record<string, string | number | boolean | null>;
    /** `sandbox`, or a list such as `stdout,secret=APP_*`; absent: no ceiling. */
    ceiling?: string | true;
    limits?: Limits;
    /** Modules, templates and what the reading builtins may read, by path. */
    files?: Record<string, string | Uint8Array | ArrayBuffer | { base64: string }>;
    /**
     * Whether the body of a 500 that `handle` gives names the cause; default true. `false` for replies that are passed on to a
     * client: `log` names the cause either way.
     */
    error_detail?: boolean;
    host?: Host;
}

/** A fault of the interpreter or an outer limit, never of a program. The instance was discarded. */
export class Trapped extends Error {
    constructor(detail: string);
    readonly detail: string;
}

/**
 * The language as an object. Each has instances of its own: one for the synchronous calls, one in a worker for the asynchronous
 * ones. Faults of a program are data in the responses; what is thrown is misuse or a `Trapped`.
 */
export class Lang {
    private constructor();

    /** Compiles the web build; default: the one in this package. Does not instantiate it. */
    static load(source?: Source | Promise<Source>, options?: LoadOptions): Promise<Lang>;

    /** Makes the instance of the synchronous calls: once before the first of them, and again after a trap. */
    ready(): Promise<this>;

    version(): VersionResponse;
    /** Runs the top level. */
    run(source: string, options?: Options): RunResponse;
    /** Runs the test blocks. */
    test(source: string, options?: Options): TestResponse;
    /** Parses and validates, without running anything. */
    check(source: string, options?: Options & { problems?: boolean }): CheckResponse;
    /** Answers one request with the program's `serve` block. The program stays prepared for the next one. */
    handle(source: string, request: ProgramRequest, options?: Options): HandleResponse;

    /** As `run`, in a worker; needs `SharedArrayBuffer`, in browsers cross-origin isolation. */
    runAsync(source: string, options?: Options): Promise<RunResponse>;
    testAsync(source: string, options?: Options): Promise<TestResponse>;
    handleAsync(source: string, request: ProgramRequest, options?: Options): Promise<HandleResponse>;

    /** Ends the worker and with it whatever runs there; that Promise rejects. A later asynchronous call makes a new one. */
    close(): Promise<void>;
}

/**
 * An `http` hook over `fetch`, for the asynchronous calls. It follows no redirect, sends no cookies and no referrer. `fetch`
 * may be another function of the same shape.
 */
export function fetchHttp(options?: { fetch?: typeof fetch }): (request: HttpRequest) => Promise<HttpAnswer>;
