// Runs programs of the language in a Go process: the web build, under wazero, with a store in memory and HTTP over net/http.
//
//	go run . ../../../dist/lang-web.wasm
package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"sort"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

const (
	hostModule = "platform_host"
	// The largest body of an answer that is handed to a program.
	mostBody = 64 << 20
	// How long one call may take, hooks included. The deadline of its context ends the instance.
	longestCall = 10 * time.Second
)

// A Hook answers one kind of question with a value that becomes JSON. An error becomes {"error": text}: data for the program.
type Hook func(ctx context.Context, payload json.RawMessage) (any, error)

// Lang is one instance of the web build. One call at a time.
type Lang struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	hooks    map[string]Hook
	calls    sync.Mutex
	instance api.Module // nil before the first call, and after a trap
}

// New compiles the module and defines its three imports. Hooks are by kind: "http", "kv_get", "llm", ...
func New(ctx context.Context, wasm []byte, hooks map[string]Hook) (*Lang, error) {
	// Without CloseOnContextDone nothing would end an endless loop.
	config := wazero.NewRuntimeConfig().WithCloseOnContextDone(true).WithMemoryLimitPages(256 << 20 / 65536)
	lang := &Lang{runtime: wazero.NewRuntimeWithConfig(ctx, config), hooks: hooks}
	_, err := lang.runtime.NewHostModuleBuilder(hostModule).
		NewFunctionBuilder().WithFunc(lang.hostCall).Export("host_call").
		NewFunctionBuilder().WithFunc(hostRandomFill).Export("host_random_fill").
		NewFunctionBuilder().WithFunc(hostNowMs).Export("host_now_ms").
		Instantiate(ctx)
	if err == nil {
		lang.compiled, err = lang.runtime.CompileModule(ctx, wasm)
	}
	if err != nil {
		_ = lang.runtime.Close(ctx)
		return nil, err
	}
	return lang, nil
}

// Close frees everything.
func (lang *Lang) Close(ctx context.Context) error {
	return lang.runtime.Close(ctx)
}

// Call answers one JSON request with one JSON answer. Faults of a program are in the answer; an error is a trap, the end of the
// context, or too little memory. The instance is gone after it, and the next call has a fresh one.
func (lang *Lang) Call(ctx context.Context, request []byte) ([]byte, error) {
	lang.calls.Lock() // a hook that calls its own instance would wait here for ever: hooks must not
	defer lang.calls.Unlock()
	if lang.instance == nil {
		// No name, so that a new instance can follow an old one; no start functions, because there is none to run.
		config := wazero.NewModuleConfig().WithName("").WithStartFunctions()
		instance, err := lang.runtime.InstantiateModule(ctx, lang.compiled, config)
		if err != nil {
			return nil, err
		}
		lang.instance = instance
	}
	answer, err := call(ctx, lang.instance, request)
	if err != nil {
		// What a trap leaves behind is not used again. The context of the call may be over by now.
		_ = lang.instance.Close(context.Background())
		lang.instance = nil
	}
	return answer, err
}

func call(ctx context.Context, instance api.Module, request []byte) ([]byte, error) {
	place, err := allocate(ctx, instance, request)
	if err != nil {
		return nil, err
	}
	results, err := instance.ExportedFunction("platform_call").Call(ctx, uint64(place), uint64(len(request)))
	if err != nil {
		return nil, err
	}
	packed := api.DecodeU32(results[0])
	// Memory may have grown during the call: it is read through the module, never through a view from before.
	length, ok := instance.Memory().ReadUint32Le(packed)
	if !ok {
		return nil, errors.New("the answer lies outside of the memory")
	}
	view, ok := instance.Memory().Read(packed+4, length)
	if !ok {
		return nil, errors.New("the answer lies outside of the memory")
	}
	answer := append([]byte(nil), view...) // the view is the module's memory
	free := instance.ExportedFunction("platform_free")
	if _, err := free.Call(ctx, uint64(packed), uint64(4+length)); err != nil {
		return nil, err
	}
	if _, err := free.Call(ctx, uint64(place), uint64(len(request))); err != nil {
		return nil, err
	}
	return answer, nil
}

// allocate reserves memory in the guest and copies data there.
func allocate(ctx context.Context, instance api.Module, data []byte) (uint32, error) {
	results, err := instance.ExportedFunction("platform_alloc").Call(ctx, uint64(len(data)))
	if err != nil {
		return 0, err
	}
	place := api.DecodeU32(results[0])
	if place == 0 || !instance.Memory().Write(place, data) {
		return 0, errors.New("the module has no memory left")
	}
	return place, nil
}

// ---- imports: they never panic, whatever a hook does --------------------------------------------------------------------

// hostCall answers a question of the guest: a packed buffer that the guest frees, or 0 for what is not offered.
func (lang *Lang) hostCall(ctx context.Context, guest api.Module, kind, kindLength, payload, payloadLength uint32) uint32 {
	name, ok := guest.Memory().Read(kind, kindLength)
	if !ok {
		return 0
	}
	hook, ok := lang.hooks[string(name)]
	if !ok {
		return 0
	}
	view, ok := guest.Memory().Read(payload, payloadLength)
	if !ok {
		return 0
	}
	answer := asked(ctx, hook, append([]byte(nil), view...))
	packed := make([]byte, 4, 4+len(answer))
	binary.LittleEndian.PutUint32(packed, uint32(len(answer)))
	place, err := allocate(ctx, guest, append(packed, answer...))
	if err != nil {
		return 0
	}
	return place
}

// asked is the hook's answer as JSON; its error and its panic are answers, too.
func asked(ctx context.Context, hook Hook, payload json.RawMessage) (answer []byte) {
	defer func() {
		if cause := recover(); cause != nil {
			answer = failure(fmt.Sprint(cause))
		}
	}()
	value, err := hook(ctx, payload)
	if err != nil {
		return failure(err.Error())
	}
	answer, err = json.Marshal(value)
	if err != nil {
		return failure(err.Error())
	}
	return answer
}

func failure(text string) []byte {
	answer, _ := json.Marshal(map[string]string{"error": text}) // a map of text always has a JSON text
	return answer
}

func hostRandomFill(_ context.Context, guest api.Module, place, length uint32) uint32 {
	view, ok := guest.Memory().Read(place, length)
	if !ok {
		return 1
	}
	if _, err := rand.Read(view); err != nil {
		return 1
	}
	return 0
}

func hostNowMs() float64 {
	return float64(time.Now().UnixMicro()) / 1000
}

// ---- hooks --------------------------------------------------------------------------------------------------------------

// Store keeps texts by namespace and key, and notes what it was asked.
type Store struct {
	values map[[2]string]string
	asked  []string
}

type storeRequest struct {
	Ns    string `json:"ns"`
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Hooks are the four kinds of questions to a store.
func (store *Store) Hooks() map[string]Hook {
	kinds := map[string]func(storeRequest) any{
		"kv_get": func(request storeRequest) any {
			store.asked = append(store.asked, "get "+request.Ns+" "+request.Key)
			value, ok := store.values[[2]string{request.Ns, request.Key}]
			if !ok {
				return map[string]any{"value": nil}
			}
			return map[string]any{"value": value}
		},
		"kv_set": func(request storeRequest) any {
			store.asked = append(store.asked, "set "+request.Ns+" "+request.Key+" "+request.Value)
			store.values[[2]string{request.Ns, request.Key}] = request.Value
			return struct{}{}
		},
		"kv_delete": func(request storeRequest) any {
			delete(store.values, [2]string{request.Ns, request.Key})
			return struct{}{}
		},
		"kv_list": func(request storeRequest) any {
			keys := []string{}
			for name := range store.values {
				if name[0] == request.Ns {
					keys = append(keys, name[1])
				}
			}
			sort.Strings(keys)
			return map[string]any{"keys": keys}
		},
	}
	hooks := map[string]Hook{}
	for kind, answer := range kinds {
		answer := answer
		hooks[kind] = func(_ context.Context, payload json.RawMessage) (any, error) {
			var request storeRequest
			if err := json.Unmarshal(payload, &request); err != nil {
				return nil, err
			}
			return answer(request), nil
		}
	}
	return hooks
}

type httpRequest struct {
	Method     string      `json:"method"`
	URL        string      `json:"url"`
	Headers    [][2]string `json:"headers"`
	Timeout    float64     `json:"timeout"`
	Body       *string     `json:"body"`
	BodyBase64 *string     `json:"body_base64"`
}

// The program's grant names one host: wherever an answer points to is for the program to ask.
var client = http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// httpHook carries out one request of a program.
func httpHook(ctx context.Context, payload json.RawMessage) (any, error) {
	var asked httpRequest
	if err := json.Unmarshal(payload, &asked); err != nil {
		return nil, err
	}
	var body io.Reader
	if asked.BodyBase64 != nil {
		body = base64.NewDecoder(base64.StdEncoding, strings.NewReader(*asked.BodyBase64))
	} else if asked.Body != nil {
		body = strings.NewReader(*asked.Body)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(asked.Timeout*float64(time.Second)))
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, asked.Method, asked.URL, body)
	if err != nil {
		return nil, err
	}
	for _, pair := range asked.Headers {
		request.Header.Add(pair[0], pair[1])
	}
	reply, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	content, err := io.ReadAll(io.LimitReader(reply.Body, mostBody+1))
	if err != nil {
		return nil, err
	}
	if len(content) > mostBody {
		return nil, fmt.Errorf("the answer is larger than %d bytes", mostBody)
	}
	headers := [][2]string{}
	for name, values := range reply.Header {
		for _, value := range values {
			headers = append(headers, [2]string{name, value})
		}
	}
	answer := map[string]any{"status": reply.StatusCode, "headers": headers}
	if utf8.Valid(content) {
		answer["body"] = string(content)
	} else {
		answer["body_base64"] = base64.StdEncoding.EncodeToString(content)
	}
	return answer, nil
}

// ---- an example ---------------------------------------------------------------------------------------------------------

const source = `require serve(8080)
let hits be 0
serve on 8080
    route "GET /hello/:name"
        set hits to hits + 1
        print("served " + params.name)
        give {"hi": params.name, "hits": hits, "total": state_incr("total")}
`

type reply struct {
	Status      int         `json:"status"`
	ContentType string      `json:"content_type"`
	Headers     [][2]string `json:"headers"`
	Body        string      `json:"body"`
	Log         []string    `json:"log"`
	Errors      []string    `json:"errors"`
}

// handle answers one request with the program.
func handle(lang *Lang, program, method, path string) (reply, error) {
	request, err := json.Marshal(map[string]any{
		"op":      "handle",
		"source":  program,
		"host":    map[string]bool{"kv": true, "http": true},
		"request": map[string]string{"method": method, "path": path},
	})
	if err != nil {
		return reply{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), longestCall)
	defer cancel()
	answer, err := lang.Call(ctx, request)
	if err != nil {
		return reply{}, err
	}
	var decoded reply
	err = json.Unmarshal(answer, &decoded)
	return decoded, err
}

// expect compares, and says what is different.
func expect(what string, found, expected any) error {
	if !reflect.DeepEqual(found, expected) {
		return fmt.Errorf("%s: %v instead of %v", what, found, expected)
	}
	fmt.Println(what, "-", found)
	return nil
}

func run(path string) error {
	wasm, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	store := &Store{values: map[[2]string]string{}}
	hooks := store.Hooks()
	hooks["http"] = httpHook
	ctx := context.Background()
	lang, err := New(ctx, wasm, hooks)
	if err != nil {
		return err
	}
	defer lang.Close(ctx)

	for total := 1; total <= 2; total++ {
		answer, err := handle(lang, source, "GET", "/hello/ana?x=1")
		if err != nil {
			return err
		}
		body := fmt.Sprintf(`{"hi": "ana", "hits": 1, "total": %d}`, total)
		expected := reply{200, "application/json", [][2]string{}, body, []string{"served ana"}, []string{}}
		if err := expect("GET /hello/ana", answer, expected); err != nil {
			return err
		}
	}
	questions := []string{"get state total", "set state total 1", "get state total", "set state total 2"}
	if err := expect("the store was asked", store.asked, questions); err != nil {
		return err
	}

	wrong, err := handle(lang, source, "POST", "/hello/ana")
	if err != nil {
		return err
	}
	if err := expect("POST", []any{wrong.Status, wrong.Headers}, []any{405, [][2]string{{"Allow", "GET"}}}); err != nil {
		return err
	}
	nowhere, err := handle(lang, source, "GET", "/nope")
	if err != nil {
		return err
	}
	if err := expect("GET /nope", nowhere.Body, `{"error": "no route for GET /nope", "status": 404}`); err != nil {
		return err
	}
	undeclared, err := handle(lang, strings.TrimPrefix(source, "require serve(8080)\n"), "GET", "/hello/ana")
	if err != nil {
		return err
	}
	refused := len(undeclared.Errors) == 1 && strings.Contains(undeclared.Errors[0], "missing capability serve(8080)")
	return expect("without its grant", []any{undeclared.Status, refused}, []any{500, true})
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: embed lang-web.wasm")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "embed:", err)
		os.Exit(1)
	}
}
