package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
)

func anthropicClient(r route, secret string) anthropic.Client {
	return anthropic.NewClient(option.WithBaseURL(r.anthropicBase()+"/"), option.WithAPIKey(secret), option.WithMaxRetries(0))
}

func askAnthropic(r route, text string) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model:     anthropic.Model(r.Model),
		MaxTokens: 1000,
		Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(text))},
	}
}

func readMessage(r route, params anthropic.MessageNewParams) (anthropic.Message, error) {
	client := anthropicClient(r, key())
	stream := client.Messages.NewStreaming(context.Background(), params)
	defer stream.Close()
	message := anthropic.Message{}
	for stream.Next() {
		if err := message.Accumulate(stream.Current()); err != nil {
			return message, err
		}
	}
	return message, stream.Err()
}

func textOf(message anthropic.Message) string {
	text := ""
	for _, block := range message.Content {
		if one, isText := block.AsAny().(anthropic.TextBlock); isText {
			text += one.Text
		}
	}
	return text
}

func anthropicStatus(err error) int {
	var failure *anthropic.Error
	if errors.As(err, &failure) {
		return failure.StatusCode
	}
	return 0
}

var anthropicChecks = []check{
	{"whole", func(r route) error {
		client := anthropicClient(r, key())
		answer, err := client.Messages.New(context.Background(), askAnthropic(r, wholePrompt))
		if err != nil {
			return err
		}
		return all(equal(textOf(*answer), "Hello from the model"), equal(answer.StopReason, "end_turn"))
	}},
	{"streamed", func(r route) error {
		message, err := readMessage(r, askAnthropic(r, streamedPrompt))
		if err != nil {
			return err
		}
		return all(equal(textOf(message), "Hello there"), equal(message.StopReason, "end_turn"),
			equal(message.Usage.OutputTokens > 0, true))
	}},
	{"tool loop", func(r route) error {
		for _, isStream := range []bool{false, true} {
			params := askAnthropic(r, toolPrompt)
			params.Tools = []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{
				Name: "get_weather",
				InputSchema: anthropic.ToolInputSchemaParam{
					Properties: citySchema["properties"], Required: []string{"city"},
				},
			}}}
			for turn := 1; ; turn++ {
				var message anthropic.Message
				var err error
				if isStream {
					message, err = readMessage(r, params)
				} else {
					client := anthropicClient(r, key())
					var answer *anthropic.Message
					answer, err = client.Messages.New(context.Background(), params)
					if err == nil {
						message = *answer
					}
				}
				if err != nil {
					return err
				}
				if turn == 2 {
					if err := equal(textOf(message), "It is 7 degrees"); err != nil {
						return err
					}
					break
				}
				id := ""
				for _, block := range message.Content {
					if call, isCall := block.AsAny().(anthropic.ToolUseBlock); isCall {
						id = call.ID
						input, _ := json.Marshal(call.Input)
						if call.Name != "get_weather" || !isSameJSON(string(input), `{"city":"Oslo"}`) {
							return fmt.Errorf("the call is %s %s", call.Name, input)
						}
					}
				}
				if id == "" {
					return errors.New("there is no call")
				}
				params.Messages = append(params.Messages, message.ToParam(),
					anthropic.NewUserMessage(anthropic.NewToolResultBlock(id, `{"degrees": 7}`, false)))
			}
		}
		return nil
	}},
	{"errors", func(r route) error {
		client := anthropicClient(r, key())
		_, missing := client.Messages.New(context.Background(), askAnthropic(route{Model: "no/such/model"}, "x"))
		_, limited := client.Messages.New(context.Background(), askAnthropic(r, rateLimitPrompt))
		_, empty := client.Messages.New(context.Background(), anthropic.MessageNewParams{
			Model: anthropic.Model(r.Model), MaxTokens: 9, Messages: []anthropic.MessageParam{},
		})
		stranger := anthropicClient(r, "wrong")
		_, unknown := stranger.Messages.New(context.Background(), askAnthropic(r, "x"))
		return all(equal(anthropicStatus(missing), 404), equal(anthropicStatus(limited), 429),
			equal(anthropicStatus(empty), 400), equal(anthropicStatus(unknown), 401))
	}},
	{"limits", func(r route) error {
		client := anthropicClient(r, slotKey())
		held := client.Messages.NewStreaming(context.Background(), askAnthropic(r, heldPrompt))
		defer held.Close()
		if !held.Next() {
			return fmt.Errorf("the stream has not begun: %w", held.Err())
		}
		_, refused := client.Messages.New(context.Background(), askAnthropic(r, "x"))
		seen := &statuses{note: func() { held.Close() }}
		again, err := client.Messages.New(context.Background(), askAnthropic(r, wholePrompt),
			option.WithMaxRetries(2), option.WithMiddleware(seen.middleware))
		if err != nil {
			return err
		}
		faults := all(equal(anthropicStatus(refused), 429), equal(textOf(*again), "Hello from the model"),
			equal(seen.seen, []int{429, 200}))
		if faults != nil || r.Name != "chat" {
			return faults
		}
		spent := anthropicClient(r, spentKey())
		err = spend(func() error {
			_, err := spent.Messages.New(context.Background(), askAnthropic(r, wholePrompt))
			return err
		})
		once := &statuses{note: func() {}}
		_, last := spent.Messages.New(context.Background(), askAnthropic(r, "x"),
			option.WithMaxRetries(2), option.WithMiddleware(once.middleware))
		return all(equal(anthropicStatus(err), 429), equal(anthropicStatus(last), 429), equal(once.seen, []int{429}))
	}},
	{"broken stream", func(r route) error {
		_, err := readMessage(r, askAnthropic(r, brokenPrompt))
		return wantsError(err)
	}},
	{"cancelled", func(r route) error {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		client := anthropicClient(r, key())
		stream := client.Messages.NewStreaming(ctx, askAnthropic(r, longPrompt))
		defer stream.Close()
		for stream.Next() {
			if _, isDelta := stream.Current().AsAny().(anthropic.ContentBlockDeltaEvent); isDelta {
				return nil
			}
		}
		return fmt.Errorf("the stream ended: %w", stream.Err())
	}},
	{"models", func(r route) error {
		client := anthropicClient(r, key())
		pages := client.Models.ListAutoPaging(context.Background(), anthropic.ModelListParams{})
		for pages.Next() {
			if pages.Current().ID == r.Model {
				return nil
			}
		}
		return fmt.Errorf("the model is not listed: %v", pages.Err())
	}},
}
