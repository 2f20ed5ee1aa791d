// Runs checks of the official SDKs against a gateway and reports each one as a line of JSON, as `python/checks.py` does.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
)

// Prompts whose answer the provider of the tests determines.
const (
	wholePrompt    = "[[text:Hello from the model]]"
	streamedPrompt = `[[chunks:["Hel","lo ","there"]]]`
	toolPrompt     = `[[tool:get_weather {"city":"Oslo"}]] [[step]] [[text:It is 7 degrees]]`
	brokenPrompt   = `[[chunks:["one","two","three","four"]]] [[die:2]]`
	longPrompt     = "[[len:2000]] [[tick:20]]"
	heldPrompt     = "[[len:5000]] [[tick:50]]"
	silentPrompt   = "[[slow:1200]] [[text:done]]"
	// Its error comes behind the head of the stream.
	silentFailurePrompt = "[[slow:1200]] [[error:500]]"

	rateLimitPrompt = "[[error:429 retry=1]]"
)

type route struct {
	Name       string `json:"name"`
	Prefix     string `json:"prefix"`
	Model      string `json:"model"`
	Embeddings string `json:"embeddings"`
	// Of the gateway whose streams begin before the provider's first event.
	isEarly bool
}

func (r route) base() string {
	if r.isEarly {
		return os.Getenv("HEAD_URL") + r.Prefix
	}
	return os.Getenv("GATEWAY_URL") + r.Prefix
}

// The Anthropic SDK adds /v1 to the path by itself.
func (r route) anthropicBase() string {
	return strings.TrimSuffix(r.base(), "/v1")
}

func key() string { return os.Getenv("GATEWAY_KEY") }

// slotKey has one request at a time.
func slotKey() string { return os.Getenv("SLOT_KEY") }

// spentKey has a budget that its first request spends.
func spentKey() string { return os.Getenv("SPENT_KEY") }

// statuses notes the status of each response of a client, and calls a function with each.
type statuses struct {
	seen []int
	note func()
}

// middleware is that of the SDKs that have one.
func (s *statuses) middleware(request *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	response, err := next(request)
	if response != nil {
		s.seen = append(s.seen, response.StatusCode)
		s.note()
	}
	return response, err
}

// spend calls until the budget is spent, which is known when a response is over.
func spend(call func() error) error {
	for attempt := 0; attempt < 100; attempt++ {
		if err := call(); err != nil {
			return err
		}
	}
	return nil
}

type check struct {
	name string
	run  func(route) error
}

type line struct {
	SDK   string  `json:"sdk"`
	Route string  `json:"route"`
	Check string  `json:"check"`
	Error *string `json:"error"`
}

// runAll runs every check on every route, and goes on behind a failed one.
func runAll(routes []route, sdk string, checks []check) {
	for _, one := range routes {
		for _, c := range checks {
			if c.name == "embeddings" && one.Embeddings == "" {
				continue
			}
			report := line{SDK: sdk, Route: one.Name, Check: c.name}
			if err := runOne(c, one); err != nil {
				text := err.Error()
				report.Error = &text
			}
			written, _ := json.Marshal(report)
			fmt.Println(string(written))
		}
	}
}

func runOne(c check, one route) (err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			err = fmt.Errorf("panic: %v", thrown)
		}
	}()
	return c.run(one)
}

func equal(seen, wanted any) error {
	if fmt.Sprint(seen) == fmt.Sprint(wanted) {
		return nil
	}
	return fmt.Errorf("%v is not %v", seen, wanted)
}

func all(errs ...error) error { return errors.Join(errs...) }

// wantsError turns an expected failure into none, and its absence into one.
func wantsError(err error) error {
	if err == nil {
		return errors.New("no error was returned")
	}
	return nil
}

func isSameJSON(text, wanted string) bool {
	var left, right any
	if json.Unmarshal([]byte(text), &left) != nil || json.Unmarshal([]byte(wanted), &right) != nil {
		return false
	}
	return fmt.Sprint(left) == fmt.Sprint(right)
}

func main() {
	var routes []route
	if err := json.Unmarshal([]byte(os.Getenv("ROUTES")), &routes); err != nil {
		panic(err)
	}
	runAll(routes, "openai-go", openaiChecks)
	runAll(routes, "openai-go responses", responsesChecks)
	runAll(routes, "anthropic-sdk-go", anthropicChecks)
	runAll(routes, "go-genai", genaiChecks)
	runAll(routes, "langchaingo", langchainChecks)
}
