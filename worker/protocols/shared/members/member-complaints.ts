// What a provider's 400 or 422 says of optional members of a request: that it does not know, support or permit them (decisions.md 79).
// A complaint about the value of a member is none of these.
//
// Where each shape was seen:
//
// | Service | Text |
// |---|---|
// | OpenAI, Azure | Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead. |
// |               | (code unsupported_parameter, param max_tokens; openai-dotnet, langgenius/dify#9746, evalstate/fast-agent#279) |
// | OpenAI        | Unknown parameter: 'parallel_tool_calls'. (code unknown_parameter; openai/openai-python#1492) |
// | Azure         | Unrecognized request argument supplied: parallel_tool_calls (Azure/azure-sdk-for-net#45719) |
// | OpenAI        | The 'metadata' parameter is only allowed when 'store' is enabled. (spiceai/spiceai#5231) |
// | Azure         | 'parallel_tool_calls' is only allowed when 'tools' are specified. (openai/openai-agents-python#4326) |
// | Mistral       | {"detail":[{"type":"extra_forbidden","loc":["body","metadata"],…}]}, as such, under `message` or as its text |
// |               | (OpenHands/OpenHands-CLI#83, mistralai/platform-docs-public#7, partITech/php-mistral#76) |
// | vLLM          | [{'type': 'extra_forbidden', 'loc': ('body', 'stream_options'), …}] (modelscope/ms-agent#489) |
// |               | 1 validation error for ChatCompletionRequest\nmetadata\n  Extra inputs are not permitted (vllm#12864) |
// | Groq          | property 'reasoning_effort' is unsupported, did you mean … (CherryHQ/cherry-studio#1099); |
// |               | 'messages.1' : property 'metadata' is unsupported, which is about a message (ed-donner/llm_engineering#1130) |
// | Anthropic     | output_config: Extra inputs are not permitted; tools.0.custom.strict: Extra inputs are not permitted; |
// |               | This model does not support the effort parameter. (anthropics/claude-code#30795) |
// |               | `temperature` and `top_p` cannot both be specified for this model. Please use only one. (litellm#15097) |
// | Fireworks     | Extra inputs are not permitted, field: 'stream_options' (FlowiseAI/Flowise#2866) |
// | Google        | Invalid JSON payload received. Unknown name "metadata": Cannot find field. (ed-donner/agents#45) |
// | xAI           | Argument not supported on this model: presencePenalty (yym68686/uni-api#105); |
// |               | Model grok-4.20 does not support parameter reasoningEffort. (neavo/LinguaGacha#771) |
// | LiteLLM       | groq does not support parameters: ['metadata'], for model=… (its UnsupportedParamsError) |
// | zod           | Unrecognized key(s) in object: 'metadata' |
// | jsonschema    | Additional properties are not allowed ('metadata' was unexpected) |
// | Go, serde     | json: unknown field "metadata"; unknown field `metadata`, expected one of … |
//
// A service in front of others quotes their error as a text of JSON, such as OpenRouter in `error.metadata.raw`.

import { asBuffer } from '../../../../shared/bytes.ts'
import { isJsonObject, tryParseJson } from '../../../normalized/index.ts'

/** A member that may be left out: its name, or what of it is refused. */
export type OptionalMember =
  | 'metadata'
  | 'reasoning_effort'
  | 'output_config'
  /** `effort` of `output_config`, whose other members stay. */
  | 'effort'
  | 'max_tokens'
  | 'temperature'
  | 'top_p'
  /** Only one of `temperature` and `top_p` may be there. */
  | 'temperature_with_top_p'
  | 'parallel_tool_calls'
  | 'stream_options'
  | 'strict'
  | 'service_tier'
  | 'prompt_cache_key'

const MEMBERS: ReadonlySet<string> = new Set<OptionalMember>([
  'metadata',
  'reasoning_effort',
  'output_config',
  'effort',
  'max_tokens',
  'temperature',
  'top_p',
  'parallel_tool_calls',
  'stream_options',
  'strict',
  'service_tier',
  'prompt_cache_key'
])

/** An error body is small; what is longer quotes the request. */
const BODY_BYTES_MAX = 64 * 1024
const TEXT_CHARACTERS_MAX = 8192
const TEXTS_MAX = 64
const DEPTH_MAX = 12

/** The members that the body of an error response complains about. */
export function findComplaints(body: Uint8Array): ReadonlySet<OptionalMember> {
  const found = new Complaints()
  if (body.byteLength <= BODY_BYTES_MAX) found.addText(asBuffer(body).toString('utf8'), 0)
  return found.members
}

class Complaints {
  readonly members = new Set<OptionalMember>()
  #texts = 0

  /** Takes a text, which may be the JSON of another error. */
  addText(text: string, depth: number): void {
    if (this.#texts++ >= TEXTS_MAX) return
    const value = /^\s*[[{]/.test(text) ? tryParseJson(text) : undefined
    if (value !== undefined) this.#addValue(value, depth + 1)
    else for (const path of findPaths(text.slice(0, TEXT_CHARACTERS_MAX))) this.#addPath(path)
  }

  #addValue(value: unknown, depth: number): void {
    if (depth > DEPTH_MAX) return
    if (typeof value === 'string') this.addText(value, depth)
    else if (Array.isArray(value)) for (const item of value.slice(0, TEXTS_MAX)) this.#addValue(item, depth + 1)
    else if (isJsonObject(value)) this.#addObject(value, depth)
  }

  #addObject(value: Readonly<Record<string, unknown>>, depth: number): void {
    const { type, loc, code, param } = value
    if (typeof type === 'string' && Array.isArray(loc)) {
      // Its other members repeat the request.
      if (type === 'extra_forbidden' || type === 'value_error.extra') this.#addPath(loc.map(String))
      return
    }
    if ((code === 'unsupported_parameter' || code === 'unknown_parameter') && typeof param === 'string') {
      this.#addPath(splitPath(param))
    }
    for (const name of ERROR_MEMBERS) this.#addValue(value[name], depth + 1)
  }

  #addPath(path: readonly string[]): void {
    const member = nameMember(path)
    if (member !== undefined) this.members.add(member)
  }
}

/** Members of errors that hold a text, or another error. */
const ERROR_MEMBERS = ['error', 'message', 'detail', 'errors', 'metadata', 'raw'] as const

const NAME = String.raw`["'\x60]?([A-Za-z_$][\w.[\]$]*)["'\x60]?`

/** Each finds one name, or a list of names. */
const PATTERNS: readonly RegExp[] = [
  new RegExp(`\\bunsupported parameters?: ${NAME}`, 'gi'),
  new RegExp(`\\bunknown parameters?: ${NAME}`, 'gi'),
  /\bunrecognized request arguments? supplied: (\w[\w.]*\b(?:, \w[\w.]*\b)*)/gi,
  new RegExp(`${NAME}(?: parameter)? is only allowed when (?!the value\\b)`, 'gi'),
  /'loc': \(([^()]{1,200})\), 'msg': 'Extra inputs are not permitted'/g,
  /^([\w.[\]]+)[ \t]*\n\s+Extra inputs are not permitted/gm,
  /([\w.[\]]+): Extra inputs are not permitted/g,
  new RegExp(`Extra inputs are not permitted, field: ${NAME}`, 'g'),
  new RegExp(`\\bargument not supported(?: on this model)?: ${NAME}`, 'gi'),
  new RegExp(`\\bdoes not support parameter ${NAME}`, 'gi'),
  /\bdoes not support parameters: \[([^\]]{1,400})\]/gi,
  /\bunrecognized keys?(?:\(s\))?(?: in object)?: ([^.\n]{1,400})/gi,
  /\badditional properties are not allowed \(([^)]{1,400}) (?:was|were) unexpected\)/gi,
  /\bextra parameters \[([^\]]{1,400})\] are not allowed\b/gi,
  new RegExp(`\\bunknown field ${NAME}`, 'gi')
]

/** A sentence of a refused value says so, or names its bound. */
const VALUE =
  /\bvalues?\b|\b(?:to|must|should|cannot|can't) (?:be|have|exceed|contain)\b|\b(?:greater|larger|longer|more|less|fewer|shorter|higher|lower) than\b|\bat (?:most|least)\b|\bbetween\b/i
/** Each finds one name in a sentence that may be about a value too. */
const SENTENCES: readonly RegExp[] = [
  new RegExp(`(?:^|\\s)${NAME} is not (?:supported|permitted|allowed) (?:with|by|for|on|in) (?:this|the)\\b`, 'gi'),
  // A value may follow the name.
  new RegExp(`\\bdoes not support the ${NAME} parameter\\b(?! ["'\x60])`, 'gi'),
  new RegExp(`\\bparameter ${NAME} is not (?:supported|allowed|permitted|recognized)\\b`, 'gi')
]
const UNSUPPORTED_PROPERTY = /(?:'([\w.[\]]+)' : )?property '([\w.[\]]+)' is unsupported/g
const UNKNOWN_NAME = /\bunknown name "([\w.]+)"(?: at '([\w.[\]]+)')?: cannot find field/gi
const BOTH_GIVEN = /["'`]?temperature["'`]? and ["'`]?top_p["'`]? cannot both be\b/i

/** The paths of the members that a text complains about. */
function findPaths(text: string): string[][] {
  const paths: string[][] = []
  for (const pattern of PATTERNS) {
    for (const [, names = ''] of text.matchAll(pattern)) {
      const isPath = pattern.source.startsWith("'loc'")
      if (isPath) paths.push(splitList(names))
      else for (const name of splitList(names)) paths.push(splitPath(name))
    }
  }
  for (const sentence of text.split(/[.!?]\s/)) {
    if (VALUE.test(sentence)) continue
    for (const pattern of SENTENCES) {
      for (const [, name = ''] of sentence.matchAll(pattern)) paths.push(splitPath(name))
    }
  }
  for (const [, place = '', name = ''] of text.matchAll(UNSUPPORTED_PROPERTY)) paths.push(splitPath(`${place}.${name}`))
  for (const [, name = '', place = ''] of text.matchAll(UNKNOWN_NAME)) paths.push(splitPath(`${place}.${name}`))
  if (BOTH_GIVEN.test(text)) paths.push(['temperature_with_top_p'])
  return paths
}

/** Names with or without quotes, parted by commas or `and`. */
function splitList(names: string): string[] {
  return names
    .split(/,|\band\b/)
    .map(name => name.replaceAll(/["'`\s]/g, '').replace(/\.+$/, ''))
    .filter(name => name !== '')
}

function splitPath(path: string): string[] {
  return path.split(/[.[\]]+/).filter(step => step !== '')
}

/** The lists and objects that hold the declarations and formats with a `strict`. */
const STRICT_HOLDERS: ReadonlySet<string> = new Set([
  'tools',
  'function',
  'functions',
  'response_format',
  'text',
  'format'
])
/** Members with members of their own whose refusal is that of the whole. */
const PAIRS: Readonly<Record<string, OptionalMember>> = {
  'output_config.effort': 'effort',
  'reasoning.effort': 'reasoning_effort',
  'stream_options.include_usage': 'stream_options'
}

/** The member at a path, in the form of any wire; undefined for every other place, such as a member of a message. */
function nameMember(path: readonly string[]): OptionalMember | undefined {
  const steps = path.filter(step => step !== 'body' && step !== '$' && !/^\d+$/.test(step)).map(toSnakeCase)
  const [first = '', ...others] = steps
  const last = steps.at(-1)
  if (others.length === 0)
    return first === 'temperature_with_top_p' || MEMBERS.has(first) ? (first as OptionalMember) : undefined
  if (last === 'strict' && STRICT_HOLDERS.has(first)) return 'strict'
  return PAIRS[steps.join('.')]
}

function toSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
}
