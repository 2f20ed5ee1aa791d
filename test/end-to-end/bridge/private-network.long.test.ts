// Alone in a network of its own: a gateway that reaches providers of a private network, and nothing
// that no policy allows (providers.md 1 and 4; decisions.md 87).

import { join } from 'node:path'
import t from 'tap'
import { findNamespaceCommand, nameOuterNamespaces } from '../../support/network-namespace.ts'

const command = findNamespaceCommand()
if (command === undefined) t.plan(0, 'this machine allows no network namespaces (unshare, ip and mount as root)')
else {
  const [program = '', ...flags] = command
  const cases = join(import.meta.dirname, 'private-network.cases.ts')
  const env = { ...process.env, ...nameOuterNamespaces() }
  await t.spawn(program, [...flags, process.execPath, cases], { env }, 'in a network of its own')
}
