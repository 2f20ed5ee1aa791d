// What a generateContent request may ask, member by member (content.md 2). Names are in camel case; their snake-case spellings mean the
// same. The reader applies the classes, admission the rest.

import {
  extraHeaders,
  extraQuery,
  hint,
  ignored,
  ofFeature,
  serviceTier,
  supported
} from '../shared/members/common-parameters.ts'
import { Members } from '../shared/members/members.ts'
import type { Parameter, ParameterTable } from '../shared/members/parameters.ts'
import { toCamelCase } from './client/spelling.ts'

export const model: Parameter = { ...hint, note: 'The path names the model.' }

/** generateContent and streamGenerateContent (content.md 2). Other names are accepted without effect. */
export const contentParameters = {
  contents: supported,
  systemInstruction: {
    class: 'supported',
    note: 'A plain string, or parts whose texts are joined without a separator.'
  },
  tools: {
    class: 'supported',
    note: 'Functions everywhere, built-in tools on the v2 contract; other kinds have no effect.'
  },
  toolConfig: { class: 'supported', note: 'functionCallingConfig is honoured, other members have no effect.' },
  generationConfig: supported,
  extra_headers: extraHeaders,
  extra_body: { class: 'accepted_ignored', note: 'Refused unless it is an object.' },
  extra_query: extraQuery,
  cachedContent: ignored,
  continuationToken: ignored,
  labels: ofFeature('metadata'),
  metadata: ignored,
  model,
  safetySettings: ignored,
  serviceTier,
  store: ignored
} as const satisfies ParameterTable

/** Members of `generationConfig` (content.md 2.1). Other names are accepted without effect. */
export const generationParameters = {
  temperature: supported,
  topP: supported,
  maxOutputTokens: { class: 'supported', note: 'A number, or its text.' },
  stopSequences: {
    class: 'supported',
    note: 'Up to five strings; the gateway itself cuts the response at the first match.'
  },
  responseMimeType: { class: 'supported', note: 'text/plain, application/json or text/x.enum.' },
  responseSchema: supported,
  responseJsonSchema: supported,
  thinkingConfig: supported,
  topK: ofFeature('topK'),
  seed: ofFeature('seed'),
  presencePenalty: ofFeature('presencePenalty'),
  frequencyPenalty: ofFeature('frequencyPenalty'),
  audioTimestamp: ignored,
  audioTranscriptionConfig: ignored,
  candidateCount: { class: 'accepted_ignored', harmless: [1], note: 'The response always has exactly one candidate.' },
  enableEnhancedCivicAnswers: ignored,
  generationOutputConfig: ignored,
  imageConfig: ignored,
  logprobs: ignored,
  mediaResolution: ignored,
  modelArmorConfig: ignored,
  modelSelectionConfig: ignored,
  responseLogprobs: ignored,
  responseModalities: { class: 'accepted_ignored', harmless: [['TEXT'], ['text']], refusal: 'output_modality' },
  routingConfig: ignored,
  speechConfig: ignored
} as const satisfies ParameterTable

/** Members inside of others, besides those of `generationConfig`. */
const innerParameters = {
  'toolConfig.functionCallingConfig': supported,
  'tools[]': { class: 'supported', isOpen: true },
  'tools[].functionDeclarations': supported,
  'tools[].functionDeclarations[].name': supported,
  'tools[].functionDeclarations[].description': supported,
  'tools[].functionDeclarations[].parameters': supported,
  'tools[].functionDeclarations[].parametersJsonSchema': supported,
  'tools[].functionDeclarations[].response': supported,
  'tools[].functionDeclarations[].responseJsonSchema': supported,
  'tools[].functionDeclarations[].behavior': {
    class: 'accepted_ignored',
    harmless: ['UNSPECIFIED', 'BLOCKING']
  }
} as const satisfies ParameterTable

export const contentMembers = new Members(
  {
    ...contentParameters,
    ...Object.fromEntries(Object.entries(generationParameters).map(([name, row]) => [`generationConfig.${name}`, row])),
    ...innerParameters
  },
  { fold: toCamelCase }
)
