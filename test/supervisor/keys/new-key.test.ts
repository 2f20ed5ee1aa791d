import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createKeyRing } from '../../../shared/keys/key-ring.ts'
import { parseSettings } from '../../../shared/settings.ts'
import { loadKeys } from '../../../supervisor/keys/load.ts'
import { writeNewKey } from '../../../supervisor/keys/new-key.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'

t.test('keys 1: the printed lines are an entry that admits the printed secret', async t => {
  const folder = createTemporaryFolder(t)
  const settings = parseSettings({})
  // Names that YAML would read as a number or a boolean without quotes.
  for (const name of ['ci', '123', 'true', '1e5', '0x1f', '1.5', 'null', 'a.b_c-d', '2026-01-01']) {
    const text = writeNewKey(name, randomBytes)
    const [secret = '', ...more] = text.match(/^gw-[A-Za-z0-9_-]{43}$/gm) ?? []
    t.same(more, [], 'the secret is there once')
    const path = join(folder, 'keys.yaml')
    writeFileSync(path, `schema_version: gateway.keys.v1\nkeys:\n${text.slice(text.indexOf('  - name'))}`)
    const context = { lookup: () => undefined, settings, hasDurableCounter: false, hasPrices: false }
    const { keys } = loadKeys(path, context)
    t.equal(createKeyRing(settings, keys).find(secret)?.name, name)
  }
  t.not(writeNewKey('ci', randomBytes), writeNewKey('ci', randomBytes))
})
