package main

import (
	"context"
	"fmt"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/openai"
)

// langchaingo ignores error frames: only a body without its end tells it that a stream broke.
func langchainModel(r route) llms.Model {
	model, err := openai.New(openai.WithBaseURL(r.base()), openai.WithToken(key()), openai.WithModel(r.Model))
	if err != nil {
		panic(err)
	}
	return model
}

var langchainChecks = []check{
	{"whole", func(r route) error {
		text, err := llms.GenerateFromSinglePrompt(context.Background(), langchainModel(r), wholePrompt)
		if err != nil {
			return err
		}
		return equal(text, "Hello from the model")
	}},
	{"streamed", func(r route) error {
		streamed := ""
		text, err := llms.GenerateFromSinglePrompt(context.Background(), langchainModel(r), streamedPrompt,
			llms.WithStreamingFunc(func(_ context.Context, piece []byte) error {
				streamed += string(piece)
				return nil
			}))
		if err != nil {
			return err
		}
		return all(equal(text, "Hello there"), equal(streamed, "Hello there"))
	}},
	{"broken stream", func(r route) error {
		text, err := llms.GenerateFromSinglePrompt(context.Background(), langchainModel(r), brokenPrompt,
			llms.WithStreamingFunc(func(context.Context, []byte) error { return nil }))
		if err == nil {
			return fmt.Errorf("a cut text was taken for a whole one: %q", text)
		}
		return nil
	}},
}
