package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/genai"
)

func genaiClient(r route, secret string) *genai.Client {
	client, err := genai.NewClient(context.Background(), &genai.ClientConfig{
		APIKey: secret, Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: r.base()},
	})
	if err != nil {
		panic(err)
	}
	return client
}

// readContent adds the parts of a stream up, as an application does that writes them back into the history.
func readContent(r route, contents []*genai.Content, config *genai.GenerateContentConfig) (*genai.Content, error) {
	sum := &genai.Content{Role: "model"}
	for chunk, err := range genaiClient(r, key()).Models.GenerateContentStream(context.Background(), r.Model, contents, config) {
		if err != nil {
			return nil, err
		}
		for _, candidate := range chunk.Candidates {
			if candidate.Content != nil {
				sum.Parts = append(sum.Parts, candidate.Content.Parts...)
			}
		}
	}
	return sum, nil
}

func textOfContent(content *genai.Content) string {
	text := ""
	for _, part := range content.Parts {
		if !part.Thought {
			text += part.Text
		}
	}
	return text
}

func genaiStatus(err error) int {
	var failure genai.APIError
	if errors.As(err, &failure) {
		return failure.Code
	}
	return 0
}

var genaiChecks = []check{
	{"whole", func(r route) error {
		answer, err := genaiClient(r, key()).Models.GenerateContent(context.Background(), r.Model, genai.Text(wholePrompt), nil)
		if err != nil {
			return err
		}
		return equal(answer.Text(), "Hello from the model")
	}},
	{"streamed", func(r route) error {
		content, err := readContent(r, genai.Text(streamedPrompt), nil)
		if err != nil {
			return err
		}
		return equal(textOfContent(content), "Hello there")
	}},
	{"tool loop", func(r route) error {
		config := &genai.GenerateContentConfig{Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{
			Name:       "get_weather",
			Parameters: &genai.Schema{Type: genai.TypeObject, Properties: map[string]*genai.Schema{"city": {Type: genai.TypeString}}},
			Response:   &genai.Schema{Type: genai.TypeObject, Properties: map[string]*genai.Schema{"degrees": {Type: genai.TypeInteger}}},
		}}}}}
		for _, isStream := range []bool{false, true} {
			contents := genai.Text(toolPrompt)
			for turn := 1; ; turn++ {
				var content *genai.Content
				var err error
				if isStream {
					content, err = readContent(r, contents, config)
				} else {
					var answer *genai.GenerateContentResponse
					answer, err = genaiClient(r, key()).Models.GenerateContent(context.Background(), r.Model, contents, config)
					if err == nil {
						content = answer.Candidates[0].Content
					}
				}
				if err != nil {
					return err
				}
				if turn == 2 {
					if err := equal(textOfContent(content), "It is 7 degrees"); err != nil {
						return err
					}
					break
				}
				var call *genai.FunctionCall
				for _, part := range content.Parts {
					if part.FunctionCall != nil {
						call = part.FunctionCall
					}
				}
				if call == nil || call.Name != "get_weather" || fmt.Sprint(call.Args) != "map[city:Oslo]" {
					return fmt.Errorf("the call is %v", call)
				}
				// An empty text at the end of a stream comes back as the part {}.
				contents = append(contents, content, &genai.Content{Role: "user", Parts: []*genai.Part{{
					FunctionResponse: &genai.FunctionResponse{ID: call.ID, Name: call.Name, Response: map[string]any{"degrees": 7}},
				}}})
			}
		}
		return nil
	}},
	{"structured output", func(r route) error {
		config := &genai.GenerateContentConfig{ResponseMIMEType: "application/json", ResponseJsonSchema: answerSchema}
		answer, err := genaiClient(r, key()).Models.GenerateContent(context.Background(), r.Model, genai.Text("Where?"), config)
		if err != nil {
			return err
		}
		var read map[string]any
		if err := json.Unmarshal([]byte(answer.Text()), &read); err != nil {
			return err
		}
		return equal(len(read), 2)
	}},
	{"errors", func(r route) error {
		models := genaiClient(r, key()).Models
		_, missing := models.GenerateContent(context.Background(), "no-such-model", genai.Text("x"), nil)
		_, limited := models.GenerateContent(context.Background(), r.Model, genai.Text(rateLimitPrompt), nil)
		_, unknown := genaiClient(r, "wrong").Models.GenerateContent(context.Background(), r.Model, genai.Text("x"), nil)
		return all(equal(genaiStatus(missing), 404), equal(genaiStatus(limited), 429), wantsError(unknown))
	}},
	{"broken stream", func(r route) error {
		_, err := readContent(r, genai.Text(brokenPrompt), nil)
		return wantsError(err)
	}},
	{"early head", func(r route) error {
		r.isEarly = true
		sum, err := readContent(r, genai.Text(silentPrompt), nil)
		if err != nil {
			return err
		}
		if text := textOfContent(sum); text != "done" {
			return fmt.Errorf("%q is not done", text)
		}
		_, err = readContent(r, genai.Text(silentFailurePrompt), nil)
		var failure genai.APIError
		if !errors.As(err, &failure) {
			return fmt.Errorf("%v is no error of the SDK", err)
		}
		return nil
	}},
	{"cancelled", func(r route) error {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		for chunk, err := range genaiClient(r, key()).Models.GenerateContentStream(ctx, r.Model, genai.Text(longPrompt), nil) {
			if err != nil {
				return err
			}
			if chunk.Text() != "" {
				return nil
			}
		}
		return errors.New("the stream ended")
	}},
	{"models", func(r route) error {
		for model, err := range genaiClient(r, key()).Models.All(context.Background()) {
			if err != nil {
				return err
			}
			if model.Name == "models/"+r.Model {
				return nil
			}
		}
		return errors.New("the model is not listed")
	}},
	{"embeddings", func(r route) error {
		contents := []*genai.Content{genai.NewContentFromText("one", genai.RoleUser), genai.NewContentFromText("two", genai.RoleUser)}
		answer, err := genaiClient(r, key()).Models.EmbedContent(context.Background(), r.Embeddings, contents, nil)
		if err != nil {
			return err
		}
		return all(equal(len(answer.Embeddings), 2), equal(len(answer.Embeddings[0].Values) > 0, true))
	}},
}
