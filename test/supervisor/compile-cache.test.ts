import { chmodSync, chownSync, lstatSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { makePrivateFolder } from '../../supervisor/compile-cache.ts'
import { createTemporaryFolder } from '../support/temporary.ts'

const { uid } = userInfo()
const name = `llm-gateway-compile-cache-${uid}`

t.test('the folder is made for this user alone, and found again', async t => {
  const parent = createTemporaryFolder(t)
  t.equal(makePrivateFolder(parent), join(parent, name))
  t.equal(lstatSync(join(parent, name)).mode & 0o777, 0o700)
  t.equal(makePrivateFolder(parent), join(parent, name))
})

t.test('a folder that another user may have written is not used', async t => {
  const writable = createTemporaryFolder(t)
  mkdirSync(join(writable, name))
  chmodSync(join(writable, name), 0o777)
  t.equal(makePrivateFolder(writable), undefined)

  const linked = createTemporaryFolder(t)
  symlinkSync(createTemporaryFolder(t), join(linked, name))
  t.equal(makePrivateFolder(linked), undefined)

  t.test(
    'also with the usual permissions',
    { skip: uid === 0 ? false : 'only root can give a folder away' },
    async t => {
      const foreign = createTemporaryFolder(t)
      mkdirSync(join(foreign, name), { mode: 0o700 })
      chownSync(join(foreign, name), 65_534, 65_534)
      t.equal(makePrivateFolder(foreign), undefined)
    }
  )
})

t.test('where no folder can be made there is none', async t => {
  const parent = join(createTemporaryFolder(t), 'file')
  writeFileSync(parent, '')
  t.equal(makePrivateFolder(parent), undefined)
  t.equal(makePrivateFolder(join(parent, 'below')), undefined)
})
