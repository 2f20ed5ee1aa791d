// What a model has to read of a request, for measures that no tokenizer makes.
import type { ContentPart } from './content.ts'
import type { NormalizedRequest } from './request.ts'

/** Takes what a model reads, piece by piece. */
export interface TextMeasure {
  addText(text: string): void
  /** An image or a file, whose tokens do not follow from its bytes. */
  addMedia(): void
}

/** Gives the measure all texts, calls, results and declarations. Only arguments without a text and declarations are written for it. */
export function measureRequest({ messages, tools, output }: NormalizedRequest, measure: TextMeasure): void {
  for (const { content } of messages) for (const part of content) measurePart(part, measure)
  for (const tool of tools) {
    if (tool.type !== 'function') continue
    measure.addText(tool.name)
    measure.addText(tool.description ?? '')
    measureJson(tool.parameters, measure)
  }
  if (output?.type === 'json-schema') measureJson(output.schema, measure)
}

function measurePart(part: ContentPart, measure: TextMeasure): void {
  switch (part.type) {
    case 'text':
    case 'refusal':
    case 'reasoning':
      measure.addText(part.text)
      return
    case 'tool-call':
      measure.addText(part.name)
      if (part.argumentsText === undefined) measureJson(part.arguments, measure)
      else measure.addText(part.argumentsText)
      return
    case 'tool-result':
      for (const inner of part.content) measurePart(inner, measure)
      return
    default:
      measure.addMedia()
  }
}

function measureJson(value: unknown, measure: TextMeasure): void {
  measure.addText(JSON.stringify(value) ?? '')
}
