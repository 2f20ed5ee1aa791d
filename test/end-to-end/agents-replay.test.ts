// Replays every recorded request of a real agent on both contracts: each gets a complete response in the form of its protocol, and the
// upstream receives all of its tools, turns and files.

import t, { type Test } from 'tap'
import { readStrictly as readCompletions } from '../properties/completions-chunks.ts'
import { readEventStream } from '../properties/content-chunks.ts'
import { readStrictly as readMessages } from '../properties/messages-frames.ts'
import { readResponsesStrictly } from '../properties/responses-events.ts'
import { get, type HttpResponse, post, type UpstreamChat, upstreamChats } from '../support/client.ts'
import { emulatorVariables, startEmulator, startGateway } from '../support/in-process-gateway.ts'
import { readTurns } from '../support/turns.ts'
import { listSentFunctions, listUploads } from '../support/upstream.ts'
import {
  type Contract,
  declaresSearch,
  joinNeighbours,
  listFiles,
  listReferences,
  nameDecision,
  pathUnder,
  type RecordedRequest,
  readRecordedRequests,
  writeExpectedFunctions,
  writeExpectedRoles
} from './agents/recorded.ts'

const emulator = await startEmulator(t)
// Helper calls of one agent name models of another service; the guide recommends this setting for it.
const gateway = await startGateway(t, {
  env: { ...emulatorVariables(emulator), GATEWAY_PASS_MODEL: 'false', UPSTREAM_MODEL: 'GigaChat-2-Max' }
})

const requests = readRecordedRequests()

for (const request of requests) {
  for (const contract of ['v1', 'v2'] as const) {
    t.test(`${nameDecision(request)}${contract}: the recorded request ${request.name} is served`, async t => {
      const chatsBefore = upstreamChats(emulator).length
      const uploadsBefore = listUploads(emulator).length
      const url = `${gateway.url}${pathUnder(request, contract)}`
      const response =
        request.method === 'GET' ? await get(url, request.headers) : await post(url, request.body, request.headers)
      t.equal(response.status, 200, response.status === 200 ? '' : response.text)
      if (response.status !== 200) return
      checkResponse(t, request, response)
      const chats = upstreamChats(emulator).slice(chatsBefore)
      if (isCount(request) || request.method === 'GET') {
        t.equal(chats.length, 0)
        return
      }
      const [chat] = chats
      t.equal(chats.length, 1)
      if (chat === undefined) return
      checkChat(t, request, { contract, chat })
      // The gateway keeps the ids of uploaded files, and other requests may have sent the same file.
      const uploads = listUploads(emulator).slice(uploadsBefore)
      t.ok(uploads.length <= listFiles(request).length)
    })
  }
}

t.test('every file of the recorded requests was uploaded', async t => {
  const files = new Set(requests.filter(request => !isCount(request)).flatMap(listFiles))
  t.equal(new Set(listUploads(emulator).map(({ body }) => JSON.stringify(body))).size, files.size)
})

function isCount({ path }: RecordedRequest): boolean {
  return path.includes('count_tokens') || path.includes(':countTokens')
}

function checkChat(t: Test, request: RecordedRequest, { contract, chat }: { contract: Contract; chat: UpstreamChat }) {
  t.equal(chat.path, `/api/${contract}/chat/completions`)
  t.strictSame(listSentFunctions(chat.body), writeExpectedFunctions(request), 'every function with its own schema')
  const turns = readTurns(chat.body)
  t.strictSame(
    joinNeighbours(turns.map(({ role }) => role)),
    writeExpectedRoles(request, contract),
    'the roles in order'
  )
  const results = JSON.stringify(turns.flatMap(turn => turn.results ?? []))
  for (const name of listReferences(request.body)) t.ok(results.includes(name), `the result names the tool ${name}`)
  const files = turns.reduce((sum, turn) => sum + (turn.files ?? 0), 0)
  t.equal(files, listFiles(request).length, 'every file')
  // The v1 contract has no search, so there the declaration has no effect.
  const sent = (chat.body.tools ?? []).some((tool: object) => 'web_search' in tool)
  t.equal(sent, contract === 'v2' && declaresSearch(request), 'the declared search')
}

function checkResponse(t: Test, request: RecordedRequest, { text, json }: HttpResponse): void {
  if (request.method === 'GET') {
    t.match(json.data, [{ type: 'model', id: String }])
    t.match(json, { has_more: false, first_id: String, last_id: String })
    return
  }
  if (isCount(request)) {
    t.type(request.family === 'messages' ? json.input_tokens : json.totalTokens, 'number')
    return
  }
  const isStream = request.family === 'content' ? request.path.includes('alt=sse') : request.body.stream === true
  switch (request.family) {
    case 'completions': {
      const { chunks, error } = readCompletions(text)
      t.equal(error, undefined)
      const reasons = chunks.flatMap(({ choices }) => choices.map(choice => choice.finish_reason))
      t.match(reasons.at(-1), /^(stop|tool_calls)$/)
      break
    }
    case 'responses':
      t.equal(readResponsesStrictly(text).response.status, 'completed')
      break
    case 'messages':
      if (isStream) t.equal(readMessages(text).error, undefined)
      else t.match(json, { type: 'message', role: 'assistant', content: Array, stop_reason: /^(end_turn|tool_use)$/ })
      break
    case 'content': {
      const chunks = isStream ? readEventStream(text).chunks : [json]
      t.equal(chunks.at(-1)?.candidates?.[0]?.finishReason, 'STOP')
      t.match(chunks.at(-1)?.usageMetadata, { totalTokenCount: Number })
      break
    }
  }
}
