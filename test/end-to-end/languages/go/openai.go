package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

var citySchema = map[string]any{
	"type":                 "object",
	"properties":           map[string]any{"city": map[string]any{"type": "string"}},
	"required":             []string{"city"},
	"additionalProperties": false,
}

var answerSchema = map[string]any{
	"type":                 "object",
	"properties":           map[string]any{"city": map[string]any{"type": "string"}, "degrees": map[string]any{"type": "integer"}},
	"required":             []string{"city", "degrees"},
	"additionalProperties": false,
}

func openaiClient(r route, secret string) openai.Client {
	return openai.NewClient(option.WithBaseURL(r.base()+"/"), option.WithAPIKey(secret), option.WithMaxRetries(0))
}

func ask(r route, text string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:    r.Model,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)},
	}
}

// accumulate reads a stream with the accumulator of the SDK.
func accumulate(r route, params openai.ChatCompletionNewParams) (openai.ChatCompletionAccumulator, error) {
	client := openaiClient(r, key())
	stream := client.Chat.Completions.NewStreaming(context.Background(), params)
	defer stream.Close()
	sum := openai.ChatCompletionAccumulator{}
	for stream.Next() {
		if !sum.AddChunk(stream.Current()) {
			return sum, errors.New("the accumulator refused a chunk")
		}
	}
	return sum, stream.Err()
}

func openaiStatus(err error) int {
	var failure *openai.Error
	if errors.As(err, &failure) {
		return failure.StatusCode
	}
	return 0
}

var openaiChecks = []check{
	{"whole", func(r route) error {
		client := openaiClient(r, key())
		answer, err := client.Chat.Completions.New(context.Background(), ask(r, wholePrompt))
		if err != nil {
			return err
		}
		return all(equal(answer.Choices[0].Message.Content, "Hello from the model"), equal(answer.Model, r.Model))
	}},
	{"streamed", func(r route) error {
		params := ask(r, streamedPrompt)
		params.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
		sum, err := accumulate(r, params)
		if err != nil {
			return err
		}
		if sum.Usage.TotalTokens == 0 {
			return errors.New("the usage is missing")
		}
		return all(equal(sum.Choices[0].Message.Content, "Hello there"), equal(sum.Choices[0].FinishReason, "stop"))
	}},
	{"tool loop", func(r route) error {
		for _, isStream := range []bool{false, true} {
			params := ask(r, toolPrompt)
			params.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
				Name: "get_weather", Parameters: citySchema, Strict: openai.Bool(true),
			})}
			for turn := 1; ; turn++ {
				var message openai.ChatCompletionMessage
				if isStream {
					sum, err := accumulate(r, params)
					if err != nil {
						return err
					}
					message = sum.Choices[0].Message
				} else {
					client := openaiClient(r, key())
					answer, err := client.Chat.Completions.New(context.Background(), params)
					if err != nil {
						return err
					}
					message = answer.Choices[0].Message
				}
				if turn == 2 {
					if err := equal(message.Content, "It is 7 degrees"); err != nil {
						return err
					}
					break
				}
				if len(message.ToolCalls) != 1 || message.ToolCalls[0].Function.Name != "get_weather" ||
					!isSameJSON(message.ToolCalls[0].Function.Arguments, `{"city":"Oslo"}`) {
					return fmt.Errorf("the calls are %v", message.ToolCalls)
				}
				params.Messages = append(params.Messages, message.ToParam(),
					openai.ToolMessage(`{"degrees": 7}`, message.ToolCalls[0].ID))
			}
		}
		return nil
	}},
	{"structured output", func(r route) error {
		params := ask(r, "Where?")
		params.ResponseFormat = openai.ChatCompletionNewParamsResponseFormatUnion{
			OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
				Name: "answer", Schema: answerSchema, Strict: openai.Bool(true),
			}},
		}
		client := openaiClient(r, key())
		answer, err := client.Chat.Completions.New(context.Background(), params)
		if err != nil {
			return err
		}
		var read struct {
			City    *string `json:"city"`
			Degrees *int    `json:"degrees"`
		}
		if err := json.Unmarshal([]byte(answer.Choices[0].Message.Content), &read); err != nil {
			return err
		}
		if read.City == nil || read.Degrees == nil {
			return fmt.Errorf("members are missing in %s", answer.Choices[0].Message.Content)
		}
		return nil
	}},
	{"errors", func(r route) error {
		client := openaiClient(r, key())
		_, missing := client.Chat.Completions.New(context.Background(), ask(route{Model: "no/such/model"}, "x"))
		_, limited := client.Chat.Completions.New(context.Background(), ask(r, rateLimitPrompt))
		_, empty := client.Chat.Completions.New(context.Background(),
			openai.ChatCompletionNewParams{Model: r.Model, Messages: []openai.ChatCompletionMessageParamUnion{}})
		stranger := openaiClient(r, "wrong")
		_, unknown := stranger.Chat.Completions.New(context.Background(), ask(r, "x"))
		return all(equal(openaiStatus(missing), 404), equal(openaiStatus(limited), 429),
			equal(openaiStatus(empty), 400), equal(openaiStatus(unknown), 401))
	}},
	{"limits", func(r route) error {
		client := openaiClient(r, slotKey())
		held := client.Chat.Completions.NewStreaming(context.Background(), ask(r, heldPrompt))
		defer held.Close()
		if !held.Next() {
			return fmt.Errorf("the stream has not begun: %w", held.Err())
		}
		_, refused := client.Chat.Completions.New(context.Background(), ask(r, "x"))
		var failure *openai.Error
		if !errors.As(refused, &failure) {
			return fmt.Errorf("the slot is free: %v", refused)
		}
		seen := &statuses{note: func() { held.Close() }}
		again, err := client.Chat.Completions.New(context.Background(), ask(r, wholePrompt),
			option.WithMaxRetries(2), option.WithMiddleware(seen.middleware))
		if err != nil {
			return err
		}
		faults := all(equal(failure.StatusCode, 429), equal(failure.Code, "rate_limit_exceeded"),
			equal(failure.Type, "rate_limit_error"), equal(failure.Response.Header.Get("retry-after"), "1"),
			equal(again.Choices[0].Message.Content, "Hello from the model"), equal(seen.seen, []int{429, 200}))
		if faults != nil || r.Name != "chat" {
			return faults
		}
		spent := openaiClient(r, spentKey())
		err = spend(func() error {
			_, err := spent.Chat.Completions.New(context.Background(), ask(r, wholePrompt))
			return err
		})
		if !errors.As(err, &failure) {
			return fmt.Errorf("the budget is not spent: %v", err)
		}
		once := &statuses{note: func() {}}
		_, err = spent.Chat.Completions.New(context.Background(), ask(r, "x"),
			option.WithMaxRetries(2), option.WithMiddleware(once.middleware))
		return all(equal(failure.Code, "budget_exceeded"), equal(failure.Type, "insufficient_quota"),
			equal(openaiStatus(err), 429), equal(once.seen, []int{429}))
	}},
	{"broken stream", func(r route) error {
		_, err := accumulate(r, ask(r, brokenPrompt))
		return wantsError(err)
	}},
	{"cancelled", func(r route) error {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		client := openaiClient(r, key())
		stream := client.Chat.Completions.NewStreaming(ctx, ask(r, longPrompt))
		defer stream.Close()
		for stream.Next() {
			if chunk := stream.Current(); len(chunk.Choices) > 0 && chunk.Choices[0].Delta.Content != "" {
				return nil
			}
		}
		return fmt.Errorf("the stream ended: %w", stream.Err())
	}},
	{"models", func(r route) error {
		client := openaiClient(r, key())
		pages := client.Models.ListAutoPaging(context.Background())
		for pages.Next() {
			if pages.Current().ID == r.Model {
				return nil
			}
		}
		return fmt.Errorf("the model is not listed: %v", pages.Err())
	}},
	{"embeddings", func(r route) error {
		client := openaiClient(r, key())
		answer, err := client.Embeddings.New(context.Background(), openai.EmbeddingNewParams{
			Model: r.Embeddings,
			Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"one", "two"}},
		})
		if err != nil {
			return err
		}
		return all(equal(len(answer.Data), 2), equal(len(answer.Data[0].Embedding) > 0, true))
	}},
}

func responseParams(r route, text string) responses.ResponseNewParams {
	return responses.ResponseNewParams{
		Model: r.Model,
		Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(text)},
	}
}

// readResponse reads a stream to its completed response.
func readResponse(r route, params responses.ResponseNewParams) (*responses.Response, error) {
	client := openaiClient(r, key())
	stream := client.Responses.NewStreaming(context.Background(), params)
	defer stream.Close()
	var final *responses.Response
	for stream.Next() {
		switch event := stream.Current().AsAny().(type) {
		case responses.ResponseCompletedEvent:
			final = &event.Response
		case responses.ResponseFailedEvent:
			return nil, errors.New("the response failed")
		}
	}
	if err := stream.Err(); err != nil {
		return nil, err
	}
	if final == nil {
		return nil, errors.New("the stream ended without a completed response")
	}
	return final, nil
}

var responsesChecks = []check{
	{"whole", func(r route) error {
		client := openaiClient(r, key())
		answer, err := client.Responses.New(context.Background(), responseParams(r, wholePrompt))
		if err != nil {
			return err
		}
		return equal(answer.OutputText(), "Hello from the model")
	}},
	{"streamed", func(r route) error {
		final, err := readResponse(r, responseParams(r, streamedPrompt))
		if err != nil {
			return err
		}
		return equal(final.OutputText(), "Hello there")
	}},
	{"tool loop", func(r route) error {
		for _, isStream := range []bool{false, true} {
			items := responses.ResponseInputParam{
				responses.ResponseInputItemParamOfMessage(toolPrompt, responses.EasyInputMessageRoleUser),
			}
			for turn := 1; ; turn++ {
				params := responses.ResponseNewParams{
					Model: r.Model,
					Input: responses.ResponseNewParamsInputUnion{OfInputItemList: items},
					Tools: []responses.ToolUnionParam{{OfFunction: &responses.FunctionToolParam{
						Name: "get_weather", Parameters: citySchema, Strict: openai.Bool(true),
					}}},
				}
				var answer *responses.Response
				var err error
				if isStream {
					answer, err = readResponse(r, params)
				} else {
					client := openaiClient(r, key())
					answer, err = client.Responses.New(context.Background(), params)
				}
				if err != nil {
					return err
				}
				if turn == 2 {
					if err := equal(answer.OutputText(), "It is 7 degrees"); err != nil {
						return err
					}
					break
				}
				count := 0
				for _, item := range answer.Output {
					call, isCall := item.AsAny().(responses.ResponseFunctionToolCall)
					if !isCall {
						continue
					}
					count++
					if call.Name != "get_weather" || !isSameJSON(call.Arguments, `{"city":"Oslo"}`) {
						return fmt.Errorf("the call is %v", call)
					}
					result := responses.ResponseInputItemParamOfFunctionCallOutput(`{"degrees": 7}`)
					result.OfFunctionCallOutput.CallID = openai.String(call.CallID)
					items = append(items, responses.ResponseInputItemParamOfFunctionCall(call.Arguments, call.CallID, call.Name), result)
				}
				if err := equal(count, 1); err != nil {
					return err
				}
			}
		}
		return nil
	}},
	{"broken stream", func(r route) error {
		_, err := readResponse(r, responseParams(r, brokenPrompt))
		return wantsError(err)
	}},
}
