import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import t, { type Test } from 'tap'
import { createMessage } from '../../../shared/ipc/checks.ts'
import type { ChildHost } from '../../../shared/ipc/child-host.ts'
import type { FromServiceMessage, ToServiceContent } from '../../../shared/ipc/service-messages.ts'
import { writeStoreSettings } from '../../../shared/settings/store-settings.ts'
import { parseSettings } from '../../../shared/settings.ts'
import { runService } from '../../../supervisor/processes/service-process.ts'
import { type OpenEngine, type OpenStore, StoreOpenError } from '../../../supervisor/store/engine.ts'
import { createStoreProcess } from '../../../supervisor/store/process.ts'
import { waitUntil } from '../../support/processes.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'

const openNothing: OpenEngine = async () =>
  ({
    purge: async () => false,
    totals: async () => ({ responses: 3, conversations: 2, bytes: 1 }),
    close: async () => undefined
  }) as unknown as OpenStore

/** Runs the store process with this engine, on a channel of the test. */
function run(t: Test, open: OpenEngine) {
  const folder = createTemporaryFolder(t)
  const socketFolder = join(folder, 'sockets')
  mkdirSync(socketFolder, 0o700)
  const socketPath = join(socketFolder, 'store.sock')
  const logFile = join(folder, 'gateway.log')
  const sent: FromServiceMessage[] = []
  const exits: number[] = []
  let receive: (value: unknown) => void = () => undefined
  let disconnect: () => void = () => undefined
  let isConnected = true
  const stdout = Object.assign(new Writable({ write: (_chunk, _encoding, done) => done() }), { fd: -1 })
  const host: ChildHost = {
    pid: 7,
    stdout,
    get isConnected() {
      return isConnected
    },
    send(message, done) {
      sent.push(message as FromServiceMessage)
      done?.()
    },
    onMessage(listener) {
      receive = listener
    },
    onDisconnect(listener) {
      disconnect = listener
    },
    onUncaughtError: () => undefined,
    onExit: () => undefined,
    limitFileRights: () => undefined,
    exit: code => void exits.push(code)
  }
  runService(createStoreProcess(open), host)
  const post = (content: ToServiceContent) => receive(createMessage(content))
  const settings = writeStoreSettings(
    parseSettings({ GATEWAY_RESPONSES_STORE_DSN: 'sqlite:x.sqlite', GATEWAY_LOG_FILENAME: logFile })
  )
  return {
    socketPath,
    logFile,
    sent,
    exits,
    post,
    kinds: () => sent.map(({ kind }) => kind),
    configure: (changes: { settings?: Record<string, unknown>; hasMetrics?: boolean } = {}) =>
      post({
        kind: 'configure-service',
        settings,
        socketPath,
        gatewayId: 'g',
        isQuiet: true,
        hasMetrics: false,
        ...changes
      }),
    disconnect() {
      isConnected = false
      disconnect()
    }
  }
}

t.test('a service is configured once, answers pings and reports its metrics until it is closed', async t => {
  const { configure, post, kinds, sent, exits, socketPath } = run(t, openNothing)
  t.same(kinds(), ['service-online'])
  // A process that was killed has left it.
  writeFileSync(socketPath, '')
  configure({ hasMetrics: true })
  configure()
  await waitUntil(() => kinds().includes('service-ready'), 'the service is ready')
  post({ kind: 'ping', nonce: 4 })
  t.match(sent.at(-1), { kind: 'pong', nonce: 4 })
  post({ kind: 'metrics-collect', requestId: 9 })
  t.match(sent.at(-1), { kind: 'metrics-collected', requestId: 9 })
  t.ok(sent.some(message => message.kind === 'metrics-delta'))
  // This database holds no counters.
  post({ kind: 'counters-exchange', requestId: 10, exchangeId: 'x', questions: [] })
  await waitUntil(() => kinds().includes('counters-reply'), 'a reply')
  t.match(sent.at(-1), { kind: 'counters-reply', requestId: 10, answers: null })
  post({ kind: 'close-service' })
  post({ kind: 'close-service' })
  await waitUntil(() => exits.length > 0, 'the process has exited')
  t.same(exits, [0])
  t.equal(kinds().at(-1), 'service-closed')
  t.equal(kinds().filter(kind => kind === 'service-ready').length, 1)
})

t.test('a database that cannot be used is a failed start with its reason', async t => {
  for (const [error, failure] of [
    [new StoreOpenError('schema_newer', 'too new'), { reason: 'configuration', detail: 'too new' }],
    [
      Object.assign(new Error('hunter2'), { code: 'EMFILE' }),
      { reason: 'internal', detail: /^the store of responses cannot start: EMFILE/ }
    ]
  ] as const) {
    const { configure, sent, exits } = run(t, async () => {
      throw error
    })
    configure()
    await waitUntil(() => exits.length > 0, 'the process has exited')
    t.same(exits, [1])
    t.match(sent.at(-1), { kind: 'service-failed', ...failure })
  }
  const { configure, sent } = run(t, openNothing)
  configure({ settings: {} })
  await waitUntil(() => sent.length > 1, 'an answer')
  t.match(sent.at(-1), { kind: 'service-failed', reason: 'internal' })
})

t.test('its log is opened again after a rotation', async t => {
  const { configure, post, kinds, logFile } = run(t, async options => {
    setTimeout(() => options.log.warn('first'), 0)
    const store = await openNothing(options)
    return {
      ...store,
      async close() {
        options.log.warn('last')
      }
    }
  })
  configure()
  await waitUntil(() => kinds().includes('service-ready'), 'the service is ready')
  await waitUntil(() => readFileSync(logFile, 'utf8').includes('first'), 'a line is written')
  renameSync(logFile, `${logFile}.1`)
  post({ kind: 'reopen-log' })
  post({ kind: 'close-service' })
  await waitUntil(() => existsSync(logFile) && readFileSync(logFile, 'utf8').includes('last'), 'a line in the new file')
  t.notMatch(readFileSync(`${logFile}.1`, 'utf8'), 'last')
})

t.test('it closes when its supervisor is gone, and leaves no socket', async t => {
  const { configure, kinds, exits, disconnect, socketPath } = run(t, openNothing)
  configure()
  await waitUntil(() => kinds().includes('service-ready'), 'the service is ready')
  t.ok(existsSync(socketPath))
  disconnect()
  await waitUntil(() => exits.length > 0, 'the process has exited')
  t.same(exits, [1])
  t.notOk(existsSync(join(socketPath, '..')))
})
