// The demo as a newcomer starts it: requests are recorded, and the page can be opened with the printed key.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { buildDashboard } from '../../../ops/dashboard/build.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { startScript } from '../process/fixtures/run.ts'

/** The requests of the README, in order: the path and the body. */
function readRequests(): Array<{ path: string; body: string }> {
  const text = readFileSync(join(import.meta.dirname, '../../../README.md'), 'utf8')
  const requests = text.matchAll(/^curl http:\/\/localhost:8090(\S+)\s(?:\\\n\s+)?-d '([^']+)'/gm)
  return [...requests].map(([, path = '', body = '']) => ({ path, body }))
}

const main = join(import.meta.dirname, '../../../supervisor/main.ts')

t.test('the demo prints the page and its key, records requests, and leaves nothing behind', async t => {
  await buildDashboard()
  const temporary = createTemporaryFolder(t)
  const started = startScript(t, main, ['--demo', '--port', '0', '--host', '127.0.0.1'], {
    GATEWAY_WORKERS: '1',
    TMPDIR: temporary
  })
  const line = await started.readLine(line => line.includes('Admin key for the page'))
  const key = String(line.trim().split(/\s+/).at(-1))
  const page = String(/http:\S+\/_admin\/ui/.exec(started.output())?.[0])
  t.equal((await fetch(page)).status, 200)
  const base = new URL('/', page)
  t.equal((await fetch(new URL('/_admin/logs', base))).status, 403)

  // With the tail open the record arrives as soon as it is stored.
  const headers = { 'x-admin-api-key': key, accept: 'text/event-stream' }
  const tail = await fetch(new URL('/_admin/logs/tail', base), { headers })
  const body = JSON.stringify({ model: 'GigaChat-2-Max', messages: [{ role: 'user', content: 'Hello!' }] })
  await (await fetch(new URL('/v1/chat/completions', base), { method: 'POST', body })).text()
  let events = ''
  for await (const chunk of tail.body ?? []) {
    events += Buffer.from(chunk).toString('utf8')
    if (events.includes('/v1/chat/completions')) break
  }
  t.match(events, '"has_request_body":true')
  t.notMatch(events, '/_admin', 'requests of the page itself are left out')

  const requests = readRequests()
  t.equal(requests.length, 5, 'the README has a request per family, and one that continues a response')
  let id = ''
  const texts: string[] = []
  for (const { path, body } of requests) {
    const response = await fetch(new URL(path, base), { method: 'POST', body: body.replace('<id from above>', id) })
    const text = await response.text()
    t.equal(response.status, 200, `the request of the README to ${path}`)
    id = JSON.parse(text).id
    texts.push(text)
  }
  t.match(texts[2], /cobalt/, 'the second response knows the first')

  started.child.kill('SIGTERM')
  t.same(await started.exited, { code: 0, signal: null })
  t.same(
    readdirSync(temporary).filter(name => name.startsWith('llm-gateway')),
    []
  )
  t.notMatch(readFileSync(started.logFile, 'utf8'), key)
})
