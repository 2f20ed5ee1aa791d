import { pino } from 'pino'
import t from 'tap'
import type { FindPrice } from '../../../shared/profile/price-finder.ts'
import { parseSettings } from '../../../shared/settings.ts'
import { createObservers } from '../../../worker/observation/create-observers.ts'
import { createObservation } from '../../../worker/observation/observation.ts'
import { ObservedRequest, refusedOutcome } from '../../../worker/observation/observed-request.ts'
import type { PlannedFacts, RequestObserver } from '../../../worker/observation/observer.ts'
import { post } from '../../support/client.ts'
import { workerOptions } from '../../support/worker-app.ts'
import { sendJson } from '../providers/support/stub-upstream.ts'
import { createRecorder, startObservedWorker } from './recorder.ts'

const silent = pino({ level: 'silent' })

class TestRequest extends ObservedRequest {
  readonly traceId = 't'
  readonly spanId = undefined
  readonly remoteParent = undefined
  readonly method = 'GET'
  readonly route = '/x'
  readonly path = '/x'
  readonly protocol = 'system'
  readonly isStreaming = false
  readonly apiKeyHash = undefined
  readonly clientIpHash = undefined
  readonly clientRequestId = undefined
  readonly caller = { name: 'unknown', category: 'unknown' } as const

  readKey() {
    return {}
  }

  outcome() {
    return refusedOutcome(404)
  }

  open(): void {
    this.opened({})
  }

  end(isComplete: boolean): void {
    this.closed(1, isComplete)
  }
}

function startRequest() {
  const recorder = createRecorder()
  const request = new TestRequest(createObservation([recorder.observer], silent))
  request.open()
  return { request, names: () => recorder.lives[0]?.moments.map(([name]) => name) }
}

const report = { operation: 'chat', attempt: 0, status: '200', httpStatus: 200, durationMs: 1 } as const
const usage = {
  inputTokens: 1,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  outputTokens: null,
  reasoningTokens: null,
  totalTokens: null
}

t.test('nothing observes unless a setting asks for it', async t => {
  const settings = parseSettings({})
  t.same(await createObservers(workerOptions(settings)), [])
  t.equal(createObservation([], silent), undefined)
  const on = parseSettings({ GATEWAY_ACCESS_LOG: 'true' })
  t.same(
    (await createObservers(workerOptions(on))).map(({ name }) => name),
    ['access-log']
  )
})

t.test('a request without observers collects its facts all the same', async t => {
  const request = new TestRequest(undefined)
  request.open()
  request.planned({ model: 'm', providerKind: 'k', profileId: 'p', isStream: true })
  request.usage(usage)
  request.firstByte()
  request.end(true)
  t.notOk(request.isObserved)
  t.same(request.facts, { model: 'm', providerKind: 'k', profileId: 'p', isStream: true, inputTokens: 1 })
})

t.test('later token counts replace earlier ones, and a count that is missing keeps the earlier one', async t => {
  const { request } = startRequest()
  request.usage({ ...usage, outputTokens: 2 })
  request.usage({ ...usage, inputTokens: null, outputTokens: 3 })
  t.same(request.facts, { inputTokens: 1, outputTokens: 3 })
})

t.test('the cost of all counts is a fact before `closed`, and absent where there is no price or no usage', async t => {
  const findPrice: FindPrice = ({ model }) => (model === 'm' ? { input: 2, output: 4, cacheRead: 1 } : undefined)
  const planned = { model: 'm', providerKind: 'k', profileId: 'p', isStream: true }
  const costOf = (live: (request: TestRequest) => void) => {
    let costNanos: number | undefined
    const observer: RequestObserver = { name: 'cost', closed: (_request, { facts }) => (costNanos = facts.costNanos) }
    const request = new TestRequest(createObservation([observer], silent, findPrice))
    request.open()
    live(request)
    request.end(true)
    request.upstreamCall(report)
    return costNanos
  }
  const live = (facts: PlannedFacts) =>
    costOf(request => {
      request.planned(facts)
      request.usage({ ...usage, inputTokens: 10, cacheReadTokens: 5 })
      request.usage({ ...usage, inputTokens: null, outputTokens: 3 })
    })
  t.equal(live(planned), 5 * 2000 + 5 * 1000 + 3 * 4000)
  t.equal(live({ ...planned, model: 'other' }), undefined)
  t.equal(live({ ...planned, isTokenEstimate: true }), undefined)
  t.equal(
    costOf(request => request.planned(planned)),
    undefined
  )
  const late = costOf(request => {
    request.planned(planned)
    request.upstreamCallStarted()
    request.usage(usage)
  })
  t.equal(late, 2000)
})

t.test('the first byte and the first token are seen once', async t => {
  const { request, names } = startRequest()
  for (let call = 0; call < 3; call += 1) {
    request.firstByte()
    request.firstToken()
  }
  t.same(names(), ['opened', 'firstByte', 'firstToken'])
})

t.test('a complete request closes after the last upstream call that still runs', async t => {
  const { request, names } = startRequest()
  request.upstreamCallStarted()
  request.upstreamCallStarted()
  request.end(true)
  request.upstreamCall(report)
  t.same(names(), ['opened', 'upstreamCall'])
  request.upstreamCall(report)
  t.same(names(), ['opened', 'upstreamCall', 'upstreamCall', 'closed'])
})

t.test('a request whose client disconnected closes at once, and nothing follows', async t => {
  const { request, names } = startRequest()
  request.upstreamCallStarted()
  request.end(false)
  request.upstreamCall(report)
  request.planned({ model: 'm', providerKind: 'k', profileId: 'p', isStream: true })
  request.usage(usage)
  request.anomaly('odd')
  request.firstByte()
  request.firstToken()
  t.same(names(), ['opened', 'closed'])
})

t.test('an observer that throws harms neither the request nor other observers, and leaves a warning', async t => {
  const broken: RequestObserver = {
    name: 'broken',
    opened: fail,
    planned: fail,
    upstreamCall: fail,
    firstByte: fail,
    usage: fail,
    closed: fail
  }
  const respond = { choices: [{ index: 0, message: { role: 'assistant', content: 'a' }, finish_reason: 'stop' }] }
  const worker = await startObservedWorker(
    t,
    (_request, response) => sendJson(response, 200, { ...respond, model: 'm', usage: { prompt_tokens: 1 } }),
    { observers: [broken] }
  )
  const { status, headers } = await post(`${worker.url}/v1/chat/completions`, {
    model: 'GigaChat-2',
    messages: [{ role: 'user', content: 'hi' }]
  })
  t.equal(status, 200)
  const [life] = await worker.recorder.whenClosed(1)
  const moments = life?.moments.map(([name]) => name) ?? []
  t.same(moments, ['opened', 'planned', 'upstreamCall', 'usage', 'firstByte', 'closed'])
  const warnings = worker.logged.filter(line => line.event === 'observer_failed')
  t.equal(warnings.length, moments.length, 'one per moment')
  t.match(warnings[0], { level: 40, observer: 'broken', request_id: headers.get('x-request-id') })
})

t.test(
  'a description holds what any observer of it asks for, and is wanted while one of them follows the request',
  async t => {
    const none = { messages: false, tools: false, extensions: false, charactersMax: 10 }
    const observers: RequestObserver[] = [
      { name: 'no description', descriptionOptions: { ...none, extensions: true }, events: () => undefined },
      { name: 'names', described: () => undefined },
      { name: 'tools', described: () => undefined, descriptionOptions: { ...none, tools: true }, follows: () => false },
      {
        name: 'messages',
        described: () => undefined,
        descriptionOptions: { ...none, messages: true, charactersMax: 50 }
      }
    ]
    const observation = createObservation(observers, silent)
    t.same(observation?.descriptionOptions, { messages: true, tools: true, extensions: false, charactersMax: 50 })
    t.ok(new TestRequest(observation).descriptionOptions)
    const [, , tools] = observers as [RequestObserver, RequestObserver, RequestObserver]
    t.equal(new TestRequest(createObservation([tools], silent)).descriptionOptions, undefined)
    const failing = { ...tools, follows: () => fail() }
    t.equal(new TestRequest(createObservation([failing], silent)).descriptionOptions, undefined)
  }
)

function fail(): never {
  throw new Error('broken observer')
}
