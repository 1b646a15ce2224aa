;; The binary interface without an interpreter: answers {"ok":true}; to a request of more than 200 bytes it sends a last line
;; to `log` and traps.
(module
  (import "platform_host" "host_call" (func $host_call (param i32 i32 i32 i32) (result i32)))
  (import "platform_host" "host_random_fill" (func $host_random_fill (param i32 i32) (result i32)))
  (import "platform_host" "host_now_ms" (func $host_now_ms (result f64)))
  (memory (export "memory") 2)
  (data (i32.const 16) "\0b\00\00\00{\"ok\":true}")
  (data (i32.const 64) "log")
  (data (i32.const 80) "{\"line\":\"lang-wasm: panic: test\"}")
  (func (export "platform_alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "platform_free") (param i32 i32))
  (func (export "platform_call") (param i32) (param $length i32) (result i32)
    (if (i32.gt_u (local.get $length) (i32.const 200))
      (then
        (drop (call $host_call (i32.const 64) (i32.const 3) (i32.const 80) (i32.const 33)))
        (unreachable)))
    (i32.const 16)))
