import t from 'tap'
import { createAnswerKind } from '../../../ops/fuzz/answers.ts'
import { createHttpKind } from '../../../ops/fuzz/http.ts'
import { listSmallerTrees, RawJson, type Tree, writeTree } from '../../../ops/fuzz/json-tree.ts'
import { createRandom } from '../../../ops/fuzz/random.ts'
import { createRequestKind } from '../../../ops/fuzz/requests.ts'
import { type Finding, runKind } from '../../../ops/fuzz/run.ts'
import type { FuzzTarget } from '../../../ops/fuzz/target.ts'
import type { FuzzKind } from '../../../ops/fuzz/types.ts'

/** A gateway that has a fault as soon as a case with a null has run. */
function createStub(): { target: FuzzTarget; harm: () => void } {
  let isHarmed = false
  const harm = (): void => {
    isHarmed = true
  }
  const findFault = async (): Promise<string | undefined> => {
    const fault = isHarmed ? 'the worker was replaced' : undefined
    isHarmed = false
    return fault
  }
  return { target: { findFault } as FuzzTarget, harm }
}

/** Documents of which every tenth has a member `bad` somewhere. */
function createKind(run: (text: string) => string | undefined): FuzzKind<Tree> {
  return {
    name: 'stub',
    concurrency: 8,
    create: random => ({ a: [1, { b: random.chance(0.1) ? { bad: 'x'.repeat(50) } : 2 }], c: 'd' }),
    run: async document => run(writeTree(document)),
    listSmaller: listSmallerTrees,
    describe: document => ({ summary: {}, bytes: Buffer.from(writeTree(document)) })
  }
}

const limits = { seed: 1, first: 0, cases: 400, durationMs: 10_000 }

t.test('a broken rule is reported once, with the smallest document that breaks it', async t => {
  const findings: Finding[] = []
  const kind = createKind(text => (text.includes('bad') ? 'broken' : undefined))
  const count = await runKind(kind, createStub().target, limits, finding => findings.push(finding) > 0)
  t.equal(count, 400)
  t.equal(findings.length, 1)
  t.match(findings[0], { rule: 'broken', isRepeatable: true })
  t.equal(findings[0]?.bytes.toString(), '{"a":[{"b":{"bad":"x"}}]}')
})

t.test('the case that harms the gateway is found among those that ran beside it', async t => {
  const { target, harm } = createStub()
  const findings: Finding[] = []
  const kind = createKind(text => {
    if (text.includes('bad')) harm()
    return undefined
  })
  await runKind(kind, target, limits, finding => findings.push(finding) < 0)
  t.match(findings, [{ rule: 'the worker was replaced', isRepeatable: true }])
  t.match(findings[0]?.bytes.toString(), /bad/)
})

t.test('the same seed makes the same case, of every kind', async t => {
  for (const create of [createRequestKind, createAnswerKind, createHttpKind]) {
    const kind = create() as FuzzKind<unknown>
    for (let seed = 0; seed < 30; seed++) {
      const [first, second] = [1, 2].map(() => kind.describe(kind.create(createRandom(seed))))
      t.same(first, second, kind.name)
    }
  }
})

t.test('a document keeps numbers out of range, members that are given twice, and names of prototypes', async t => {
  const document = { a: new RawJson('1e400'), b: [new RawJson('{"x":1,"x":2}')], ['__proto__']: 1, c: '\ud800' }
  t.equal(writeTree(document), '{"a":1e400,"b":[{"x":1,"x":2}],"__proto__":1,"c":"\\ud800"}')
})
