import { readFileSync } from 'node:fs'
import t from 'tap'
import { findNodeProblem } from '../../supervisor/node-version.ts'

t.test('a Node below the requirement is named together with the one that is needed', async t => {
  for (const running of ['20.20.2', '22.14.9', '22.9.0', '8.17.0']) {
    const expected = `unsupported_node: Node 22.15 or later is needed; this is Node ${running}`
    t.equal(findNodeProblem(running, '>=22.15'), expected)
  }
  t.match(findNodeProblem('22.15.0', '>= 22.15.1'), /Node 22\.15\.1 or later/)
})

t.test('the required Node and newer ones are accepted', async t => {
  for (const running of ['22.15.0', '22.100.0', '23.0.0', '24.21.0', '24.0.0-nightly20250101']) {
    t.equal(findNodeProblem(running, '>=22.15'), undefined, running)
  }
})

t.test('a requirement in another form is not checked', async t => {
  for (const required of ['', '*', '^22.15.0 || >=24']) t.equal(findNodeProblem('18.0.0', required), undefined)
})

interface LockedPackage {
  dev?: boolean
  devOptional?: boolean
  engines?: { node?: string }
}

t.test('no package of the product needs a newer Node than the product', async t => {
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Record<string, LockedPackage> }
  const { '': product, ...packages } = lock.packages
  const lowest = product?.engines?.node?.replace('>=', '') ?? ''
  t.match(lowest, /^\d+\.\d+$/)
  const needed = Object.entries(packages).filter(([, { dev, devOptional }]) => dev !== true && devOptional !== true)
  t.ok(needed.length > 50)
  for (const [path, { engines }] of needed) t.equal(findNodeProblem(lowest, engines?.node ?? '*'), undefined, path)
  t.match(JSON.parse(readFileSync('package.json', 'utf8')).engines, { node: `>=${lowest}` })
})
