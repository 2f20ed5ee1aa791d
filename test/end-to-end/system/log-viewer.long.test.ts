// The log viewer in a headless browser (operations.md 2.4).

import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseSettings } from '../../../shared/settings.ts'
import { browserSkip, openPage, startBrowser } from '../../support/browser.ts'
import { waitUntil } from '../../support/processes.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { startWorker, workerOptions } from '../../support/worker-app.ts'

t.test(
  'the viewer shows earlier and new lines as text, with the key that is typed in',
  { skip: browserSkip },
  async t => {
    const file = join(createTemporaryFolder(t), 'a.log')
    const old = Array.from({ length: 700 }, (_, index) => `old ${index}`)
    writeFileSync(file, `${old.join('\n')}\n`)
    const settings = parseSettings({
      GATEWAY_LOG_FILENAME: file,
      GATEWAY_ENABLE_API_KEY_AUTH: 'true',
      GATEWAY_API_KEY: 'k1'
    })
    const { url, app } = await startWorker(t, workerOptions(settings))
    const { page, complaints } = await openPage(await startBrowser(t), `${url}/logs/html?key=k1`)
    const state = () => page.textContent('#state')
    const lines = () => page.$$eval('#log > div', elements => elements.map(element => element.textContent))

    t.match(await page.textContent('.warning'), 'sensitive data')
    await waitUntil(
      async () => (await lines()).length === 500,
      'the last lines are shown at once, with the key of the page'
    )
    t.same(await lines(), old.slice(-500))
    await page.fill('#key', 'wrong')
    await page.click('button')
    await waitUntil(
      async () => (await state()) === 'Refused with status 401: the key is missing or wrong',
      'a wrong key is refused'
    )
    await page.fill('#key', 'k1')
    await page.click('button')
    await waitUntil(async () => (await state()) === 'Connected', 'it is connected')
    const markup = '<img src=x onerror="document.title=1"> </script><b>ä'
    appendFileSync(file, `one\n${markup}\n`)
    await waitUntil(async () => (await lines()).length === 502, 'two lines are shown')
    t.same(await lines(), [...old.slice(-500), 'one', markup])
    t.equal(await page.title(), 'Gateway log')
    t.equal(await page.$('#log img'), null)

    await page.selectOption('#level', 'ERROR')
    await page.click('button')
    await waitUntil(async () => (await state()) === 'Connected', 'it is connected again')
    appendFileSync(file, '{"level":"INFO","msg":"a"}\n{"level":"ERROR","msg":"b"}\n')
    await waitUntil(async () => (await lines()).length === 1, 'the error is shown')
    t.match((await lines()).at(-1), '"b"')
    app.startDraining()
    await waitUntil(async () => (await state()) === 'Ended', 'a drain ends the stream')
    // Browsers report every response with an error status.
    t.same(
      complaints.filter(text => !/status of 401/.test(text)),
      [],
      'the policy of the page allows all that it does'
    )
  }
)
