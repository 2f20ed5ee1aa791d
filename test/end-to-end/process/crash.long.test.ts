// What an unexpected error in the supervisor leaves: one line on stderr, one in the log, and no process.

import { join } from 'node:path'
import t from 'tap'
import { readChildPids } from '../../support/processes.ts'
import { startScript } from './fixtures/run.ts'
import { waitForEnd } from './fixtures/workers.ts'

const main = join(import.meta.dirname, '../../../supervisor/main.ts')
const preload = join(import.meta.dirname, 'fixtures/throw-on-signal.ts')

const cases = [
  { thrown: 'error', line: 'Error E_FIXTURE', err: { type: 'Error', message: 'cannot go on with ***' } },
  { thrown: 'rejection', line: 'Error E_FIXTURE', err: { type: 'Error', message: 'cannot go on with ***' } },
  { thrown: 'nothing', line: 'error', err: { message: 'null' } }
]

for (const { thrown, line, err } of cases) {
  t.test(`a supervisor that throws exits with 1 and one line, and its processes exit: ${thrown}`, async t => {
    const started = startScript(t, main, [], {
      NODE_OPTIONS: `--import=${preload}`,
      NODE_FIXTURE_THROWN: thrown,
      UPSTREAM_CREDENTIALS: 'hunter2-upstream',
      GATEWAY_HOST: '127.0.0.1',
      GATEWAY_PORT: '0',
      GATEWAY_WORKERS: '1',
      GATEWAY_LOG_FILENAME: 'gateway.log',
      GATEWAY_TRAFFIC_LOG_ENABLED: 'true',
      GATEWAY_TRAFFIC_LOG_SINK: 'jsonl'
    })
    await started.readLine(one => one.includes('"startup_complete"'))
    const children = readChildPids(started.child.pid ?? 0)
    t.equal(children.length, 2, 'a worker and the writer')
    started.child.kill('SIGWINCH')
    t.same(await started.exited, { code: 1, signal: null })
    t.equal(started.errors(), `llm-gateway: internal: ${line}; the log says more\n`)
    const crashes = started.readLog().filter(({ event }) => event === 'supervisor_crashed')
    t.match(crashes, [{ level: 'CRITICAL', err }])
    t.equal(crashes.length, 1)
    t.notMatch(started.errors() + started.output() + JSON.stringify(started.readLog()), /hunter2/)
    await Promise.all(children.map(waitForEnd))
  })
}
