// The sink before a real node of OpenSearch with its security plugin, TLS and a user who has the rights that the guide names
// (decisions.md 115).
import tls from 'node:tls'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { RecordsRefusedError } from '../../../../../supervisor/writer/sink.ts'
import { SinkQueue } from '../../../../../supervisor/writer/sink-queue.ts'
import { Spill } from '../../../../../supervisor/writer/spill.ts'
import { connectToSearchServer } from '../../../../../supervisor/writer/store/opensearch/server.ts'
import { createOpensearchSink } from '../../../../../supervisor/writer/store/opensearch/sink.ts'
import { waitUntil } from '../../../../support/processes.ts'
import {
  type Loose,
  readDocuments,
  type SearchNode,
  startSearchNode,
  whyWithoutSearchNode
} from '../../../../support/search-node.ts'
import { createTemporaryFolder } from '../../../../support/temporary.ts'
import { createRecord, createRecords } from '../../records.ts'

const INDEXES = ['team', 'team-blue', 'plain', 'backlog']
const BACKLOG = 10_000
const BULK_SIZE = 500
/** The sink tries again after 30 s at the latest. */
const PATIENCE_MS = 120_000

t.test('a real node of OpenSearch', { skip: whyWithoutSearchNode(), timeout: 900_000 }, async t => {
  const node = await startSearchNode(t, INDEXES)
  // The sink verifies certificates by Node's own authorities.
  const authorities = tls.getCACertificates('default')
  tls.setDefaultCACertificates([...authorities, node.certificate])
  t.teardown(() => tls.setDefaultCACertificates(authorities))

  await t.test('a stream and an index over two starts', async t => {
    for (const [index, isDataStream] of [
      ['team', true],
      ['plain', false]
    ] as const) {
      for (const start of [1, 2]) {
        const { sink } = createSink(t, node, { index, isDataStream })
        await sink.write(createRecords(3))
        t.equal((await readDocuments(node, index)).length, start * 3, `${index}, start ${start}`)
      }
    }
  })

  await t.test('gateways with names of one prefix', async t => {
    await createSink(t, node, { index: 'team-blue' }).sink.write(createRecords(2))
    t.equal((await readDocuments(node, 'team-blue')).length, 2)
    await createSink(t, node, { index: 'team' }).sink.write(createRecords(1))
    t.equal((await readDocuments(node, 'team')).length, 7)
  })

  await t.test('a document that conflicts with the types is refused alone', async t => {
    const { sink } = createSink(t, node, { index: 'team' })
    const bad = createRecord({ created_at: 'yesterday' })
    const error = await sink.write([...createRecords(4), bad]).catch((error: unknown) => error)
    t.ok(error instanceof RecordsRefusedError)
    t.strictSame([...((error as RecordsRefusedError).refusedIds ?? [])], [bad.id])
    t.notMatch(String((error as Error).cause), 'yesterday', 'its reason quotes the document and is left out')
    t.equal((await readDocuments(node, 'team')).length, 11)
  })

  await t.test('a stream and a template that are gone are made again, with the types of the template', async t => {
    for (const [index, isDataStream] of [
      ['team', true],
      ['plain', false]
    ] as const) {
      const { sink } = createSink(t, node, { index, isDataStream })
      await sink.write(createRecords(1))
      await node.ask('DELETE', isDataStream ? `/_data_stream/${index}` : `/${index}`)
      t.equal((await node.ask('DELETE', `/_index_template/${index}-template`)).status, 200)
      await sink.write(createRecords(2))
      t.equal((await readDocuments(node, index)).length, 2)
      const [{ mappings }] = Object.values((await node.ask('GET', `/${index}/_mapping`)).body) as [Loose]
      t.match(mappings, { dynamic: 'false', properties: { request_id: { type: 'keyword' } } })
      const streams = (await node.ask('GET', `/_data_stream/${index}`)).body.data_streams
      t.equal(streams.length, isDataStream ? 1 : 0)
    }
  })

  await t.test('what the node refuses stands in the error, with its reason', async t => {
    const { sink } = createSink(t, node, { index: 'elsewhere' })
    await t.rejects(sink.write(createRecords(1)), {
      message: /data stream with 403 \(security_exception\): no permissions for \[indices:admin\/data_stream\/get\]/
    })
  })

  await t.test(`a backlog of ${BACKLOG} spilled records is stored after an outage`, { timeout: 300_000 }, async t => {
    const { sink, calls } = createSink(t, node, { index: 'backlog' })
    const spill = await Spill.open({
      ...{ directory: createTemporaryFolder(t), name: 'opensearch', bytesMax: 1e9, recordBytesMax: 1e6 },
      onDropped: () => t.fail('none is dropped'),
      onFailure: () => t.fail('the disk works')
    })
    for (let start = 0; start < BACKLOG; start += 1000) await spill.append(createRecords(1000))
    await node.kill()
    const queue = createQueue(sink, spill)
    await waitUntil(() => !queue.isAvailable, 'the outage is seen')
    await node.start()
    const startedAtMs = performance.now()
    await waitUntil(() => spill.isEmpty, 'the backlog is stored', PATIENCE_MS)
    t.comment(`stored ${Math.round(performance.now() - startedAtMs)} ms after the node was back`)
    const { body } = await node.ask('POST', '/backlog/_refresh').then(() => node.ask('GET', '/backlog/_count'))
    t.equal(body.count, BACKLOG)
    t.ok(calls.filter(path => path === '/_bulk').length <= BACKLOG / BULK_SIZE + 10, 'whole batches')
    await queue.close()
  })
})

interface SinkOptions {
  readonly index: string
  readonly isDataStream?: boolean
}

/** A sink of the node, and the paths that it calls. */
function createSink(t: Test, node: SearchNode, options: SinkOptions) {
  const calls: string[] = []
  const { call, close } = connectToSearchServer({ ...node, timeoutMs: 30_000 })
  let closing: Promise<void> | undefined
  const server = {
    // A queue closes its sink too, and the client closes once.
    close: () => {
      closing ??= close()
      return closing
    },
    call: (request: Parameters<typeof call>[0]) => {
      calls.push(request.path)
      return call(request)
    }
  }
  const sink = createOpensearchSink(
    { server, log: pino({ enabled: false }), random: Math.random },
    { isDataStream: true, retentionDays: 30, retryMinMs: 10, ...options }
  )
  t.teardown(() => sink.close())
  return { sink, calls }
}

/** A queue with the bounds of the writer. */
function createQueue(sink: ReturnType<typeof createSink>['sink'], spill: Spill): SinkQueue {
  return new SinkQueue(
    sink,
    {
      ...{ recordsMax: 10_000, bytesMax: 1e8, batchesAtOnce: 1, batchRecordsMax: BULK_SIZE, batchBytesMax: 1e7 },
      ...{ flushIntervalMs: 100, dropsWhenFull: true, releasesInOutage: false, slowWriteMs: 5000 },
      ...{ isSynchronous: false, spill },
      ...{ retryMinMs: 100, retryMaxMs: 30_000, reportIntervalMs: 60_000 }
    },
    {
      ...{ log: pino({ enabled: false }), random: Math.random, nowMs: () => performance.now() },
      ...{
        onWritten: () => undefined,
        onDropped: () => undefined,
        onWriteError: () => undefined,
        onHeld: () => undefined
      }
    }
  )
}
