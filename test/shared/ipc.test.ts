import t from 'tap'
import { createCatalogSnapshot, readCatalogModels } from '../../shared/catalog.ts'
import { createMessage, readSupervisorMessage, readWorkerMessage } from '../../shared/ipc.ts'

const snapshot = createCatalogSnapshot(readCatalogModels([{ id: 'one', limits: { context: 8 } }]), {
  providerProfileId: 'native-upstream',
  nowMs: 0
})

t.test('what one end writes the other end reads', async t => {
  const configure = createMessage({
    kind: 'configure',
    workerId: 1,
    version: '1.2.3',
    variables: { GATEWAY_PORT: '0' },
    revisions: { config: `sha256:${'a'.repeat(64)}`, matrix: `sha256:${'b'.repeat(64)}` },
    fingerprintKey: 'AAAA',
    listen: { host: '127.0.0.1', port: 0, reusePort: true },
    isQuiet: false,
    catalog: snapshot
  } as const)
  t.same(readSupervisorMessage(JSON.parse(JSON.stringify(configure))), configure)
  const acquire = createMessage({ kind: 'slot-acquire', requestId: 1, key: 'one' } as const)
  t.same(readWorkerMessage(JSON.parse(JSON.stringify(acquire))), acquire)
})

t.test('an unknown kind, another version or a wrong field is not a message (J7)', async t => {
  const wrong: unknown[] = [
    { v: 1, kind: 'nonsense' },
    { v: 2, kind: 'drain' },
    { kind: 'drain' },
    { v: 1, kind: 'ping', nonce: 'x' },
    { v: 1, kind: 'slot-granted' },
    { v: 1, kind: 'catalog-published', snapshot: { ...snapshot, models: [{ id: 1 }] } },
    'drain',
    null,
    []
  ]
  for (const value of wrong) t.equal(readSupervisorMessage(value), undefined)
  t.equal(readWorkerMessage({ v: 1, kind: 'drain' }), undefined, 'a worker sends no supervisor messages')
  t.equal(readSupervisorMessage({ v: 1, kind: 'drained' }), undefined)
})
