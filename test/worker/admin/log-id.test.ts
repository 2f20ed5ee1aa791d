import t from 'tap'
import { readLogId } from '../../../worker/admin/log-id.ts'
import * as fc from '../../support/properties.ts'

t.test('every text form of a UUID is the same id', async () => {
  fc.assert(
    fc.property(fc.uuid(), id => {
      const forms = [
        id,
        id.toUpperCase(),
        `urn:uuid:${id}`,
        `URN:UUID:${id.toUpperCase()}`,
        `{${id}}`,
        id.replaceAll('-', '')
      ]
      return forms.every(form => readLogId(form) === id)
    })
  )
})

t.test('anything else is refused', async t => {
  const id = '0198c0de-0000-7000-8000-000000000000'
  for (const text of [
    '',
    'not-a-uuid',
    'models',
    `{${id}`,
    `${id}}`,
    `${id} `,
    ` ${id}`,
    `${id}0`,
    id.slice(1),
    `${id}\n`
  ]) {
    t.throws(() => readLogId(text), { code: 'invalid_log_id', message: 'Invalid traffic log id' }, text)
  }
})
