// The forms that responses have on services of the chat wire. README.md says where each of them was seen.
import type { ResponseContext } from './chat-wire.ts'
import type { ShapeName } from './directive-steps.ts'
import { isObject } from './json.ts'
import {
  type ChatShape,
  type Chunk,
  type Loose,
  mapCalls,
  mapChoices,
  mapChunks,
  mapMessage,
  omit,
  shortId,
  withoutNull
} from './shape-tools.ts'

const THOUGHT = 'reasoning_content'

/** Each page once, as a list of addresses and as a list of results. */
function listPages({ plan }: ResponseContext): { citations: string[]; results: Loose[] } | undefined {
  const { citations } = plan.step
  if (citations === undefined) return undefined
  return {
    citations: citations.map(({ url }) => url),
    results: citations.map(({ url, title }) => ({ title, url, date: null, snippet: '' }))
  }
}

function mistralMessage({ [THOUGHT]: thought, content, refusal: _refusal, ...message }: Loose): Loose {
  const text = typeof content === 'string' && content !== '' ? [{ type: 'text', text: content }] : []
  const thinking = { type: 'thinking', thinking: [{ type: 'text', text: thought }] }
  const written = thought === undefined ? content : [thinking, ...text]
  return { ...message, ...(written === null ? {} : { content: written }) }
}

const mistralCalls = (message: Loose): Loose =>
  mapCalls(message, ({ function: definition }) => ({ id: shortId(9), function: definition }))

/** The calls and the end of a response are one chunk. */
function joinEnd(chunks: readonly Chunk[]): Chunk[] {
  const isCall = ({ payload }: Chunk) => payload.choices[0]?.delta?.tool_calls !== undefined
  const calls = chunks.filter(isCall).flatMap(({ payload }) => payload.choices[0].delta.tool_calls)
  return chunks
    .filter(chunk => !isCall(chunk))
    .map(chunk => {
      if (chunk.kind !== 'finish' || calls.length === 0) return chunk
      return mapChunks([chunk], () => ({ content: null, tool_calls: calls }))[0] as Chunk
    })
}

const timing = { queue_time: 0.04, prompt_time: 0.01, completion_time: 0.05, total_time: 0.06 }

function addGroqTimes(usage: unknown): unknown {
  return isObject(usage) ? { ...usage, ...timing } : usage
}

const filterResults = { hate: { filtered: false, severity: 'safe' } }

function azureChoice(choice: Loose): Loose {
  return { ...choice, content_filter_results: filterResults }
}

function addCost(usage: unknown): unknown {
  return isObject(usage) ? { ...usage, cost: 0.0001, is_byok: false } : usage
}

export const serviceShapes: Readonly<Record<Exclude<ShapeName, 'llama.cpp' | 'ollama' | 'vllm'>, ChatShape>> = {
  mistral: {
    step: { usageForm: 'finish', callInOneDelta: true },
    whole: body =>
      omit(
        mapChoices(body, choice =>
          mapMessage(omit(choice, 'logprobs'), message => mistralCalls(mistralMessage(message)))
        ),
        'system_fingerprint'
      ),
    stream: chunks =>
      joinEnd(mapChunks(chunks, delta => mistralCalls(withoutNull(mistralMessage(delta))))).map(
        ({ payload, kind }) => ({ payload: omit(payload, 'system_fingerprint'), kind })
      )
  },
  deepseek: {
    step: { usageForm: 'finish' },
    whole: body => ({
      ...mapChoices(body, choice =>
        mapMessage(choice, message =>
          mapCalls({ ...omit(message, 'refusal'), content: message.content ?? '' }, (call, index) => ({
            index,
            ...call
          }))
        )
      ),
      usage: addCacheHits(body.usage)
    }),
    stream: chunks =>
      mapChunks(chunks, delta => {
        if (delta.tool_calls !== undefined) return delta
        return { ...omit(delta, 'refusal'), content: delta.content ?? null, [THOUGHT]: delta[THOUGHT] ?? null }
      }).map(({ payload, kind }) => ({ payload: { ...payload, usage: addCacheHits(payload.usage) ?? null }, kind }))
  },
  kimi: {
    whole: body => ({
      ...mapChoices(body, choice =>
        mapMessage(omit(choice, 'logprobs'), message =>
          mapCalls(omit(message, 'refusal'), (call, index) => ({ ...call, id: `${call.function.name}:${index}` }))
        )
      ),
      usage: flattenCached(body.usage)
    }),
    stream: (chunks, { plan }) => {
      const usage = flattenCached(chunks.findLast(({ payload }) => isObject(payload.usage))?.payload.usage)
      return mapChunks(chunks, delta =>
        mapCalls(omit(delta, 'refusal'), call => {
          const { index, id } = call
          return id === undefined ? call : { ...call, id: `${plan.calls[index]?.name}:${index}` }
        })
      ).map(({ payload, kind }) => {
        const isUsage = payload.choices.length === 0
        const shaped = isUsage ? { ...payload, usage } : omit(payload, 'usage')
        if (kind !== 'finish' || isUsage || usage === undefined) return { payload: shaped, kind }
        return { payload: mapChoices(shaped, choice => ({ ...choice, usage })), kind }
      })
    }
  },
  groq: {
    step: { usageForm: 'finish', reasoningForm: 'reasoning', callInOneDelta: true },
    whole: body => ({
      ...mapChoices(body, choice =>
        mapMessage(choice, message => mapCalls(withoutNull(message), call => ({ ...call, id: shortId(9) })))
      ),
      usage: addGroqTimes(body.usage),
      usage_breakdown: null,
      x_groq: { id: 'req_01emulator', seed: 7 },
      service_tier: 'on_demand'
    }),
    stream: chunks =>
      mapChunks(chunks, delta => mapCalls(omit(delta, 'refusal'), call => ({ ...call, id: shortId(9) }))).map(
        ({ payload, kind }, index) => {
          if (index === 0) return { payload: { ...payload, x_groq: { id: 'req_01emulator', seed: 7 } }, kind }
          if (kind !== 'finish') return { payload, kind }
          const usage = addGroqTimes(payload.usage)
          return { payload: { ...payload, usage, x_groq: { id: 'req_01emulator', usage } }, kind }
        }
      )
  },
  zhipu: {
    step: { usageForm: 'finish', callInOneDelta: true },
    whole: (body, context) => ({
      ...omit(
        mapChoices(body, choice =>
          mapMessage(omit(choice, 'logprobs'), message => omit(message, 'refusal', 'annotations'))
        ),
        'object',
        'system_fingerprint'
      ),
      request_id: body.id,
      ...zhipuPages(context)
    }),
    stream: (chunks, context) =>
      mapChunks(chunks, delta => ({ role: 'assistant', ...omit(delta, 'refusal', 'annotations') })).map(
        ({ payload, kind }) => ({
          payload: {
            ...omit(payload, 'object', 'system_fingerprint'),
            ...(kind === 'finish' ? zhipuPages(context) : {})
          },
          kind
        })
      )
  },
  azure: {
    whole: body => ({
      ...mapChoices(body, choice =>
        mapMessage(azureChoice(choice), message => mapCalls(message, call => omit(call, 'type')))
      ),
      prompt_filter_results: [{ prompt_index: 0, content_filter_results: filterResults }]
    }),
    stream: chunks => {
      const report = {
        choices: [],
        created: 0,
        id: '',
        model: '',
        object: '',
        prompt_filter_results: [{ prompt_index: 0, content_filter_results: filterResults }]
      }
      const shaped = mapChunks(chunks, delta =>
        mapCalls(delta, call => (call.id === undefined ? call : { ...call, type: '' }))
      ).map(({ payload, kind }) => ({ payload: mapChoices(payload, azureChoice), kind }))
      return [{ payload: report, kind: 'delta' }, ...shaped]
    }
  },
  openrouter: {
    step: { reasoningForm: 'details', ping: true },
    whole: body => ({
      ...mapChoices(body, choice => ({ ...choice, native_finish_reason: choice.finish_reason })),
      id: `gen-1-${shortId(20)}`,
      provider: 'Emulator',
      usage: addCost(body.usage)
    }),
    stream: chunks => {
      const id = `gen-1-${shortId(20)}`
      return mapChunks(chunks, delta => ({ role: 'assistant', content: '', ...withoutNull(delta) })).map(
        ({ payload, kind }) => {
          const named = { ...payload, id, provider: 'Emulator' }
          if (payload.choices.length > 0) {
            return {
              payload: mapChoices(named, choice => ({ ...choice, native_finish_reason: choice.finish_reason })),
              kind
            }
          }
          const delta = { role: 'assistant', content: '' }
          const choice = { index: 0, delta, finish_reason: null, native_finish_reason: null, logprobs: null }
          return { payload: { ...named, choices: [choice], usage: addCost(payload.usage) }, kind }
        }
      )
    }
  },
  perplexity: {
    step: { usageForm: 'every' },
    whole: (body, context) => ({
      ...omit(
        mapChoices(body, choice =>
          mapMessage(omit(choice, 'logprobs'), message => omit(message, 'refusal', 'annotations'))
        ),
        'system_fingerprint'
      ),
      ...perplexityPages(context)
    }),
    stream: (chunks, context) => {
      let content = ''
      return mapChunks(chunks, delta => {
        content += typeof delta.content === 'string' ? delta.content : ''
        return { role: 'assistant', ...omit(delta, 'refusal', 'annotations') }
      }).map(({ payload, kind }) => ({
        payload: {
          ...omit(payload, 'system_fingerprint'),
          ...perplexityPages(context),
          ...(kind === 'finish'
            ? { choices: [{ ...payload.choices[0], message: { role: 'assistant', content } }] }
            : {})
        },
        kind
      }))
    }
  },
  xai: {
    whole: (body, context) => ({
      ...mapChoices(body, choice => mapMessage(choice, message => omit(message, 'annotations'))),
      usage: countReasoningBeside(body.usage),
      ...xaiPages(context)
    }),
    stream: (chunks, context) =>
      mapChunks(chunks, delta => omit(delta, 'annotations')).map(({ payload, kind }) => ({
        payload: {
          ...payload,
          ...(isObject(payload.usage) ? { usage: countReasoningBeside(payload.usage) } : {}),
          ...(kind === 'finish' ? xaiPages(context) : {})
        },
        kind
      }))
  }
}

function addCacheHits(usage: unknown): unknown {
  if (!isObject(usage)) return undefined
  const { prompt_tokens: input, prompt_tokens_details: details, ...rest } = usage as Loose
  const cached = details.cached_tokens
  return {
    prompt_tokens: input,
    ...rest,
    prompt_tokens_details: { cached_tokens: cached },
    prompt_cache_hit_tokens: cached,
    prompt_cache_miss_tokens: input - cached
  }
}

/** The cached tokens stand beside the totals. */
function flattenCached(usage: unknown): unknown {
  if (!isObject(usage)) return undefined
  const { prompt_tokens_details: details, completion_tokens_details: _details, ...totals } = usage as Loose
  return { ...totals, cached_tokens: details.cached_tokens }
}

/** The completion excludes the reasoning; only all three counts add up to the total. */
function countReasoningBeside(usage: unknown): unknown {
  if (!isObject(usage)) return usage
  const { completion_tokens: output, completion_tokens_details: details } = usage as Loose
  return { ...usage, completion_tokens: output - details.reasoning_tokens }
}

function zhipuPages(context: ResponseContext): Loose {
  const pages = listPages(context)
  if (pages === undefined) return {}
  return { web_search: pages.results.map(({ url, title }, index) => ({ title, link: url, refer: `ref_${index + 1}` })) }
}

function perplexityPages(context: ResponseContext): Loose {
  const pages = listPages(context)
  return pages === undefined ? {} : { citations: pages.citations, search_results: pages.results }
}

function xaiPages(context: ResponseContext): Loose {
  const pages = listPages(context)
  return pages === undefined ? {} : { citations: pages.citations }
}
