// The container's files, as far as they can be checked without building: a long test assembles the image and runs it.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { askHealth, findHealthTarget } from '../../ops/container/ask-health.ts'
import { readDockerfile, readExecForm, readPairs } from '../support/container/dockerfile.ts'

const root = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const stages = readDockerfile(read('ops/container/Dockerfile'))
const last = stages.at(-1)?.instructions ?? []
const textOf = (name: string) => last.find(instruction => instruction.name === name)?.text ?? ''

t.test(
  'the image runs without root and without a shell, from the official slim image of the Node of the project',
  async t => {
    t.match(stages[0]?.instructions.length, Number)
    for (const { base } of stages) t.equal(base, `node:\${NODE_VERSION}-slim`)
    t.match(read('ops/container/Dockerfile'), new RegExp(`^ARG NODE_VERSION=${read('.node-version').trim()}$`, 'm'))
    t.match(textOf('USER'), /^[1-9]\d+:[1-9]\d+$/, 'numbers, which runAsNonRoot can verify')
    t.ok(readExecForm(textOf('ENTRYPOINT')).length > 1)
    t.ok(readExecForm(textOf('HEALTHCHECK').replace(/^CMD /, '')).length > 1)
    t.same(readExecForm(textOf('VOLUME')), [textOf('WORKDIR')])
    t.notOk(
      last.some(({ name }) => name === 'RUN' || name === 'CMD'),
      'nothing of the last stage needs a shell'
    )
  }
)

t.test('the image has the version of the package, and the variables of the image are what they say', async t => {
  const { version, license } = JSON.parse(read('package.json'))
  t.match(textOf('ARG'), `VERSION=${version}`)
  t.equal(readPairs(textOf('LABEL'))['org.opencontainers.image.licenses'], license)
  t.match(readPairs(textOf('ENV')), {
    GATEWAY_MODE: 'PROD',
    GATEWAY_LOG_FILENAME: '/dev/stdout',
    GATEWAY_PORT: textOf('EXPOSE'),
    TMPDIR: textOf('WORKDIR')
  })
})

t.test('the context of the build has what the first stages copy and nothing else', async t => {
  const copied = stages
    .slice(0, -1)
    .flatMap(({ instructions }) =>
      instructions.filter(({ name, flags }) => name === 'COPY' && flags.from === undefined)
    )
    .flatMap(({ text }) => text.split(/\s+/).slice(0, -1))
  const ignore = read('.dockerignore').split('\n')
  t.same(
    [...new Set(copied)].toSorted(),
    ignore
      .filter(line => line.startsWith('!'))
      .map(line => line.slice(1))
      .toSorted()
  )
  for (const line of ['*', '**/.env', '**/node_modules']) t.ok(ignore.includes(line), line)
})

t.test('the health check asks where the variables say that the gateway listens', async t => {
  const of = (environment: Record<string, string>) => {
    const { isTls, hostname, port } = findHealthTarget(environment)
    return `${isTls ? 'https' : 'http'}://${hostname}:${port}`
  }
  t.equal(of({}), 'http://127.0.0.1:8090')
  t.equal(of({ GATEWAY_HOST: '0.0.0.0', GATEWAY_PORT: '9000', GATEWAY_USE_HTTPS: 'True' }), 'https://127.0.0.1:9000')
  t.equal(of({ GATEWAY_HOST: '[::]' }), 'http://127.0.0.1:8090')
  t.equal(of({ GATEWAY_HOST: '10.0.0.7', GATEWAY_PORT: 'tcp://10.0.0.1:80' }), 'http://10.0.0.7:8090')
})

t.test('the health check holds for 200 alone', async t => {
  let status = 200
  const server = createServer((request, response) => {
    t.equal(request.url, '/health')
    response.writeHead(status).end()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const target = { isTls: false, hostname: '127.0.0.1', port: (server.address() as AddressInfo).port }
  t.equal(await askHealth(target), true)
  status = 503
  t.equal(await askHealth(target), false)
  server.close()
  server.closeAllConnections()
  t.equal(await askHealth(target), false, 'nothing listens')
})
