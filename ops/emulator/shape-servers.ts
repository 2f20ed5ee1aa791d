// The forms that responses have on servers that people run themselves. README.md says where each of them was seen.
import { type ChatShape, mapCalls, mapChoices, mapChunks, mapMessage, omit, shortId } from './shape-tools.ts'

const llamaTimings = { prompt_n: 10, prompt_ms: 42.1, predicted_n: 5, predicted_ms: 61.7, predicted_per_second: 81 }

export const serverShapes: Readonly<Record<'llama.cpp' | 'ollama' | 'vllm', ChatShape>> = {
  'llama.cpp': {
    whole: body => ({
      ...mapChoices(body, choice =>
        mapMessage(omit(choice, 'logprobs'), message =>
          mapCalls(omit(message, 'refusal'), ({ type, function: definition }) => ({
            type,
            function: definition,
            id: shortId(32)
          }))
        )
      ),
      system_fingerprint: 'b6500-e5ad2c0b',
      timings: llamaTimings
    }),
    stream: chunks =>
      mapChunks(chunks, (delta, index) => {
        const first = index === 0 ? { role: 'assistant', content: null } : {}
        return mapCalls({ ...omit(delta, 'refusal'), ...first }, call =>
          call.id === undefined ? call : { ...call, id: shortId(32) }
        )
      }).map(({ payload, kind }) => ({
        payload: {
          ...payload,
          system_fingerprint: 'b6500-e5ad2c0b',
          ...(payload.choices.length === 0 ? { timings: llamaTimings } : {})
        },
        kind
      }))
  },
  vllm: {
    step: { reasoningForm: 'reasoning' },
    whole: body => ({
      ...mapChoices(body, choice => ({
        ...mapMessage(choice, message =>
          mapCalls(
            { tool_calls: [], annotations: null, audio: null, function_call: null, reasoning: null, ...message },
            call => ({ ...call, id: `chatcmpl-tool-${shortId(32)}` })
          )
        ),
        stop_reason: null,
        token_ids: null
      })),
      service_tier: null,
      system_fingerprint: null,
      prompt_logprobs: null,
      kv_transfer_params: null
    }),
    stream: chunks =>
      mapChunks(chunks, delta =>
        mapCalls(omit(delta, 'refusal'), call =>
          call.id === undefined ? call : { ...call, id: `chatcmpl-tool-${shortId(32)}` }
        )
      ).map(({ payload, kind }) => ({
        payload: mapChoices(omit(payload, 'system_fingerprint'), choice => ({
          ...choice,
          ...(kind === 'finish' ? { stop_reason: null } : {}),
          token_ids: null
        })),
        kind
      }))
  },
  ollama: {
    step: { reasoningForm: 'reasoning', callInOneDelta: true },
    whole: body => ({
      ...mapChoices(body, choice =>
        mapMessage(omit(choice, 'logprobs'), message =>
          mapCalls({ ...omit(message, 'refusal'), content: message.content ?? '' }, (call, index) => ({
            id: `call_${shortId(8)}`,
            index,
            type: call.type,
            function: call.function
          }))
        )
      ),
      id: 'chatcmpl-730',
      system_fingerprint: 'fp_ollama'
    }),
    stream: chunks =>
      mapChunks(chunks, delta =>
        mapCalls({ role: 'assistant', ...omit(delta, 'refusal'), content: delta.content ?? '' }, call => ({
          ...call,
          id: `call_${shortId(8)}`
        }))
      ).map(({ payload, kind }) => ({
        payload: { ...payload, id: 'chatcmpl-730', system_fingerprint: 'fp_ollama' },
        kind
      }))
  }
}
