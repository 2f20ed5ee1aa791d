// Coding agents with a started gateway: requests have the form in which the agents compose them, and the upstream requests must have
// the same meaning, on both contracts, streamed and whole.

import t, { type Test } from 'tap'
import { readToolCallId } from '../../worker/normalized/index.ts'
import { readResponsesStrictly } from '../properties/responses-events.ts'
import { lastUpstreamChat, post, type UpstreamChat, upstreamChats } from '../support/client.ts'
import { emulatorVariables, startEmulator, startGateway } from '../support/in-process-gateway.ts'
import { readStateIds, readTurns } from '../support/turns.ts'
import { listSentFunctions } from '../support/upstream.ts'
import * as contentAgent from './agents/content.ts'
import * as messagesAgent from './agents/messages.ts'
import * as responsesAgent from './agents/responses.ts'
import { type Call, CLOSING, findStep, OPENING, steps, THOUGHT, writeExpectedTurns } from './agents/task.ts'
import { agentTools, writeWireTools } from './agents/tools.ts'
import { readChunks } from './content/support.ts'
import { addUp, readEvents } from './messages/support.ts'

const model = 'GigaChat-2-Max'
const emulator = await startEmulator(t)
const gateways = [
  { where: 'inline', ...(await startGateway(t, { env: emulatorVariables(emulator) })) },
  {
    where: 'in a pool thread',
    ...(await startGateway(t, { env: { ...emulatorVariables(emulator), GATEWAY_POOL_THRESHOLD_BYTES: '1000' } }))
  }
]

// biome-ignore lint/suspicious/noExplicitAny: a test asserts on the members it expects and fails when they are absent.
type Loose = any

/** The content of one response of the gateway, independent of family and form. */
interface Round {
  text: string
  thought: string
  calls: Call[]
}

interface Exchange {
  gateway: { url: string }
  contract: 'v1' | 'v2'
  isStream: boolean
}

interface Agent {
  /** Sends the conversation so far and appends the response to it. */
  ask(): Promise<Round>
  /** Appends a result for each of the given calls. */
  addResults(calls: readonly Call[]): void
}

/** Runs an agent until a response has no call. Returns its rounds and the upstream requests. */
async function work(agent: Agent): Promise<{ rounds: Round[]; sent: UpstreamChat[] }> {
  const before = upstreamChats(emulator).length
  const rounds: Round[] = []
  for (;;) {
    const round = await agent.ask()
    rounds.push(round)
    if (round.calls.length === 0) return { rounds, sent: upstreamChats(emulator).slice(before) }
    if (rounds.length > 2 * steps.length) throw new Error('The agent does not finish.')
    agent.addResults(round.calls)
  }
}

function createResponsesAgent({ gateway, contract, isStream }: Exchange): Agent {
  const input = [...responsesAgent.firstInput]
  const body = { model, ...responsesAgent.options, stream: isStream }
  return {
    async ask() {
      const { status, text, json } = await post(`${gateway.url}/${contract}/responses`, { ...body, input })
      if (status !== 200) throw new Error(text)
      const response: Loose = isStream ? readResponsesStrictly(text).response : json
      input.push(...response.output)
      const textOf = (type: string, member: string) =>
        response.output
          .filter((item: Loose) => item.type === type)
          .flatMap((item: Loose) => item[member].map((part: Loose) => part.text))
          .join('')
      const calls = response.output.filter((item: Loose) => item.type === 'function_call')
      return {
        text: textOf('message', 'content'),
        thought: textOf('reasoning', 'summary'),
        calls: calls.map((item: Loose) => ({
          id: item.call_id,
          name: item.name,
          arguments: JSON.parse(item.arguments)
        }))
      }
    },
    addResults(calls) {
      for (const call of calls) {
        input.push({ type: 'function_call_output', call_id: call.id, output: findStep(call).output })
      }
    }
  }
}

/** The blocks of a whole message, or of the accumulated events of a stream, with their signatures and ids. */
function collectBlocks(text: string, isStream: boolean): Loose[] {
  if (!isStream) return JSON.parse(text).content
  const events = readEvents(text)
  addUp(events)
  const blocks: Loose[] = []
  for (const { type, index, content_block, delta } of events) {
    if (type === 'content_block_start') blocks[index] = { ...content_block, input: '' }
    if (type !== 'content_block_delta') continue
    if (delta.type === 'text_delta') blocks[index].text += delta.text
    if (delta.type === 'thinking_delta') blocks[index].thinking += delta.thinking
    if (delta.type === 'signature_delta') blocks[index].signature = delta.signature
    if (delta.type === 'input_json_delta') blocks[index].input += delta.partial_json
  }
  return blocks.map(({ input, ...block }) =>
    block.type === 'tool_use' ? { ...block, input: JSON.parse(input) } : block
  )
}

function createMessagesAgent({ gateway, contract, isStream }: Exchange): Agent {
  const messages = [...messagesAgent.firstMessages]
  const body = { model, ...messagesAgent.options, stream: isStream }
  return {
    async ask() {
      const url = `${gateway.url}/${contract}/messages?beta=true`
      const response = await post(url, { ...body, messages }, messagesAgent.headers)
      if (response.status !== 200) throw new Error(response.text)
      const content = collectBlocks(response.text, isStream)
      messages.push({ role: 'assistant', content })
      const join = (member: string) => content.map(block => block[member] ?? '').join('')
      const calls = content.filter(block => block.type === 'tool_use')
      return {
        text: join('text'),
        thought: join('thinking'),
        calls: calls.map(({ id, name, input }) => ({ id, name, arguments: input }))
      }
    },
    addResults(calls) {
      const content = calls.map(call => {
        const { output, hasFailed } = findStep(call)
        return { type: 'tool_result', tool_use_id: call.id, content: output, is_error: hasFailed === true }
      })
      messages.push({ role: 'user', content })
    }
  }
}

function createContentAgent({ gateway, contract, isStream }: Exchange): Agent {
  const contents = [...contentAgent.firstContents]
  return {
    async ask() {
      const operation = isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'
      const url = `${gateway.url}/${contract}/v1beta/models/${model}:${operation}`
      const response = await post(url, { ...contentAgent.options, contents })
      if (response.status !== 200) throw new Error(response.text)
      const chunks: Loose[] = isStream ? readChunks(response.text) : [response.json]
      // The SDK records every chunk of a stream as a separate turn.
      contents.push(...chunks.map(chunk => chunk.candidates[0].content))
      const parts: Loose[] = chunks.flatMap(chunk => chunk.candidates[0].content.parts)
      const textOf = (isThought: boolean) =>
        parts
          .filter(part => (part.thought === true) === isThought)
          .map(part => part.text ?? '')
          .join('')
      const calls = parts.filter(part => part.functionCall !== undefined)
      for (const part of calls) t.type(part.thoughtSignature, 'string', 'a call carries a signature')
      return {
        text: textOf(false),
        thought: textOf(true),
        calls: calls.map(({ functionCall: { id, name, args } }) => ({ id, name, arguments: args }))
      }
    },
    addResults(calls) {
      const parts = calls.map(call => ({
        functionResponse: { id: call.id, name: call.name, response: readObject(findStep(call).output) }
      }))
      contents.push({ role: 'user', parts })
    }
  }
}

/** The family accepts only objects, so agents wrap a text in a member. */
function readObject(output: string): object {
  return output.startsWith('{') ? JSON.parse(output) : { result: output }
}

/** Parts of earlier turns that must never be sent upstream: encrypted reasoning, and cache markers, which the upstream does not support. */
const SEALED = /sealed|cache_control|ephemeral|c2VhbGVk|Looking around|should look around/

/** The members of a body that are not part of the conversation. */
function restOf({ body }: UpstreamChat): object {
  const { messages: _messages, tools: _tools, functions: _functions, stream: _stream, ...rest } = body
  return rest
}

interface Expectation extends Exchange {
  /** Everything before the first call of this task. */
  earlier: object[]
  wireTools: object[]
  rest: object
  isParallel: boolean
  tellsFailure: boolean
}

async function check(t: Test, agent: Agent, expected: Expectation): Promise<void> {
  const { contract, isStream, isParallel } = expected
  const { rounds, sent } = await work(agent)
  t.equal(rounds[0]?.text, OPENING)
  t.equal(rounds[0]?.thought, THOUGHT)
  t.equal(rounds.at(-1)?.text, CLOSING)
  const calls = rounds.flatMap(round => round.calls)
  t.strictSame(
    calls.map(call => [call.name, call.arguments]),
    steps.map(step => [step.name, step.arguments]),
    'the agent is asked for what the upstream wanted'
  )
  t.equal(rounds.length, isParallel ? steps.length : steps.length + 1)
  t.equal(sent.length, rounds.length, 'one upstream call per round')
  for (const chat of sent) {
    t.equal(chat.path, `/api/${contract}/chat/completions`)
    const functions = listSentFunctions(chat.body)
    t.strictSame(functions, expected.wireTools, 'every tool is sent as it was declared')
    const declared = expected.wireTools.slice(0, agentTools.length)
    t.equal(
      JSON.stringify(functions.slice(0, declared.length)),
      JSON.stringify(declared),
      'in the same order of members'
    )
    t.strictSame(restOf(chat), expected.rest)
    t.equal(chat.body.stream ?? false, isStream)
    t.notOk(SEALED.test(JSON.stringify(chat.body)), 'no state of another service is sent upstream')
  }
  const { body } = lastUpstreamChat(emulator)
  const expectedTurns = writeExpectedTurns({ isParallel, tellsFailure: expected.tellsFailure })
  t.strictSame(readTurns(body), [...expected.earlier, ...expectedTurns])
  if (contract === 'v1') return
  const states = calls.map(call => readToolCallId(call.id).stateId)
  const ids = readStateIds(body)
  t.strictSame(ids.results.slice(-states.length), states, 'every result is sent with the state of its call')
  t.ok(ids.calls.includes(states[0] ?? ''))
}

const contracts = ['v1', 'v2'] as const
const forms = [false, true] as const

const exchanges = gateways.flatMap(gateway =>
  contracts.flatMap(contract => forms.map(isStream => ({ gateway, contract, isStream })))
)

for (const exchange of exchanges) {
  const { gateway, contract, isStream } = exchange
  const how = `${contract}, ${isStream ? 'streamed' : 'whole'}, translated ${gateway.where}`
  const isV1 = contract === 'v1'

  t.test(`the requests of an agent with the Responses operation keep their meaning: ${how}`, async t => {
    await check(t, createResponsesAgent(exchange), {
      ...exchange,
      earlier: responsesAgent.writeEarlierTurns(!isV1),
      wireTools: [...writeWireTools(agentTools), responsesAgent.freeFormTool],
      rest: isV1
        ? { model, reasoning_effort: 'high' }
        : { model, model_options: { reasoning: { effort: 'high' } }, parallel_tool_calls: true },
      isParallel: !isV1,
      tellsFailure: false
    })
  })

  t.test(`the requests of an agent with the messages protocol keep their meaning: ${how}`, async t => {
    await check(t, createMessagesAgent(exchange), {
      ...exchange,
      earlier: messagesAgent.writeEarlierTurns(!isV1),
      wireTools: writeWireTools(messagesAgent.tools),
      rest: isV1
        ? { model, max_tokens: 32000, reasoning_effort: 'high' }
        : {
            model,
            model_options: { max_tokens: 32000, reasoning: { effort: 'high' } },
            // The agent does not set the member for parallel calls, which allows them.
            parallel_tool_calls: true
          },
      isParallel: !isV1,
      tellsFailure: true
    })
  })

  t.test(`the requests of an agent with generateContent keep their meaning: ${how}`, async t => {
    await check(t, createContentAgent(exchange), {
      ...exchange,
      earlier: contentAgent.writeEarlierTurns(!isV1),
      wireTools: contentAgent.wireTools,
      rest: isV1
        ? { model, top_p: 0, reasoning_effort: 'high' }
        : { model, model_options: { top_p: 0, reasoning: { effort: 'high' } }, parallel_tool_calls: true },
      isParallel: !isV1,
      tellsFailure: false
    })
  })
}
