import t from 'tap'
import { GatewayError } from '../../../../worker/normalized/index.ts'
import {
  createGuardedDownload,
  type DownloadDependencies,
  type DownloadRequest
} from '../../../../worker/providers/egress/guarded-download.ts'
import { rejection } from '../support/rejection.ts'
import { type StubServer, startStub } from '../support/stub-upstream.ts'

const tooLarge = () => new GatewayError('request_entity_too_large', { param: 'attachments' })

function request(url: string, more: Partial<DownloadRequest> = {}): DownloadRequest {
  return {
    url,
    param: 'attachments',
    signal: new AbortController().signal,
    limitFor: () => 1000,
    tooLarge,
    ...more
  }
}

/** Downloads as the product does, but every name resolves to loopback and loopback is allowed. */
function createLoopbackDownload(more: Partial<DownloadDependencies> = {}) {
  return createGuardedDownload({
    userAgent: 'test/1',
    resolve: async () => ['127.0.0.1'],
    isAllowedAddress: address => address === '127.0.0.1',
    ...more
  })
}

function at(stub: StubServer, path: string, host = 'files.example'): string {
  return `http://${host}:${stub.port}${path}`
}

t.test('a public file is downloaded with its type, from the address that was checked', async t => {
  const stub = await startStub((_request, response) => {
    response.writeHead(200, { 'content-type': 'Image/PNG; x=y' })
    response.end('bytes')
  })
  t.teardown(() => stub.close())
  const asked: string[] = []
  const download = createLoopbackDownload({
    resolve: async host => {
      asked.push(host)
      return ['127.0.0.1']
    }
  })
  const file = await download(request(at(stub, '/a/photo.png?size=1')))
  t.equal(file.bytes.toString(), 'bytes')
  t.equal(file.mediaType, 'image/png')
  t.equal(file.urlPath, '/a/photo.png')
  t.same(asked, ['files.example'])
  t.match(stub.requests[0], {
    url: '/a/photo.png?size=1',
    headers: { host: `files.example:${stub.port}`, 'user-agent': 'test/1', 'accept-encoding': 'identity' }
  })
  t.equal(stub.requests[0]?.headers.authorization, undefined)
})

t.test('a URL that must not be fetched is refused before any connection', async t => {
  const download = createGuardedDownload({
    userAgent: 'test/1',
    resolve: async host => {
      if (host === 'gone.example') throw new Error('ENOTFOUND')
      return host === 'empty.example' ? [] : ['93.184.216.34', '10.0.0.7']
    }
  })
  for (const url of [
    'not a url',
    'ftp://example.com/a',
    'file:///etc/passwd',
    'data:text/plain,hello',
    'http://user@example.com/',
    'http://user:pass@example.com/',
    'http://localhost/',
    'http://LOCALHOST./',
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://0x7f000001/',
    'http://127.1/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://169.254.169.254/latest/meta-data',
    'http://gone.example/',
    'http://empty.example/',
    'http://one-bad-address.example/'
  ]) {
    const error = await rejection(download(request(url, { param: 'messages[0].content[1]' })))
    t.match(error, { code: 'invalid_url', status: 400, param: 'messages[0].content[1]' }, url)
    t.notMatch(String(error), /10\.0\.0\.7|127\.0\.0\.1/)
  }
})

t.test('up to five redirects are followed, and each URL is checked', async t => {
  const stub = await startStub((incoming, response) => {
    const left = Number(incoming.url.slice(1))
    if (left > 0) response.writeHead(302, { location: `/${left - 1}` }).end()
    else if (incoming.url === '/inside') response.writeHead(302, { location: 'http://10.0.0.1/secret' }).end()
    else if (incoming.url === '/userinfo') response.writeHead(307, { location: 'http://a:b@files.example/' }).end()
    else if (incoming.url === '/scheme') response.writeHead(302, { location: 'file:///etc/passwd' }).end()
    else if (incoming.url === '/nowhere') response.writeHead(302).end()
    else response.writeHead(200, { 'content-type': 'text/plain' }).end('arrived')
  })
  t.teardown(() => stub.close())
  const download = createLoopbackDownload()
  t.equal((await download(request(at(stub, '/5')))).bytes.toString(), 'arrived')
  t.equal(stub.requests.length, 6)
  for (const path of ['/6', '/inside', '/userinfo', '/scheme', '/nowhere']) {
    t.match(await rejection(download(request(at(stub, path)))), { code: 'invalid_url', param: 'attachments' }, path)
  }
})

t.test('a redirect is refused when its host resolves to a private address the second time', async t => {
  const stub = await startStub((_incoming, response) => {
    response.writeHead(302, { location: '/again' }).end()
  })
  t.teardown(() => stub.close())
  const resolved = [['127.0.0.1'], ['10.0.0.1']]
  const download = createLoopbackDownload({ resolve: async () => resolved.shift() ?? [] })
  t.match(await rejection(download(request(at(stub, '/')))), { code: 'invalid_url' })
  t.equal(stub.requests.length, 1)
})

t.test('an unusable response of the host is a failed download', async t => {
  const stub = await startStub((incoming, response) => {
    if (incoming.url === '/404') response.writeHead(404).end()
    else if (incoming.url === '/500') response.writeHead(500).end()
    else if (incoming.url === '/packed') response.writeHead(200, { 'content-encoding': 'gzip' }).end('x')
    else response.destroy()
  })
  t.teardown(() => stub.close())
  const download = createLoopbackDownload()
  for (const path of ['/404', '/500', '/packed', '/broken']) {
    t.match(
      await rejection(download(request(at(stub, path)))),
      { code: 'attachment_download_failed', status: 400, param: 'attachments' },
      path
    )
  }
  const closed = await startStub(() => undefined)
  await closed.close()
  t.match(await rejection(download(request(at(closed, '/')))), { code: 'attachment_download_failed' })
})

t.test('a file that is too large is refused by its content-length and while it is read', async t => {
  const stub = await startStub((incoming, response) => {
    if (incoming.url === '/announced') response.writeHead(200, { 'content-length': '1001' }).write('x')
    else {
      response.writeHead(200)
      response.write('x'.repeat(600))
      response.write('x'.repeat(600))
    }
  })
  t.teardown(() => stub.close())
  const download = createLoopbackDownload()
  for (const path of ['/announced', '/endless']) {
    const aborted = stub.nextAbort()
    t.match(await rejection(download(request(at(stub, path)))), { code: 'request_entity_too_large' }, path)
    await aborted
  }
})

t.test('a type that is not supported is not downloaded', async t => {
  const stub = await startStub((_incoming, response) => {
    response.writeHead(200, { 'content-type': 'image/gif' }).write('x')
  })
  t.teardown(() => stub.close())
  const aborted = stub.nextAbort()
  const seen: unknown[] = []
  const download = createLoopbackDownload()
  const error = await rejection(
    download(
      request(at(stub, '/a.gif'), {
        limitFor(response) {
          seen.push(response)
          throw new GatewayError('unsupported_media_type')
        }
      })
    )
  )
  t.match(error, { code: 'unsupported_media_type' })
  t.same(seen, [{ mediaType: 'image/gif', urlPath: '/a.gif' }])
  await aborted
})

t.test('a download ends at one deadline for all redirects, and at the abort of its request', async t => {
  const stub = await startStub((_incoming, response) => {
    response.writeHead(200).write('x')
  })
  t.teardown(() => stub.close())
  const aborted = stub.nextAbort()
  const impatient = createLoopbackDownload({ totalTimeoutMs: 50 })
  t.match(await rejection(impatient(request(at(stub, '/')))), { code: 'attachment_download_failed' })
  await aborted

  const stuck = createLoopbackDownload({ totalTimeoutMs: 50, resolve: () => new Promise(() => undefined) })
  t.match(await rejection(stuck(request(at(stub, '/')))), { code: 'attachment_download_failed' })

  const abort = new AbortController()
  const before = stub.requests.length
  const running = createLoopbackDownload()(request(at(stub, '/'), { signal: abort.signal }))
  await stub.arrived(before + 1)
  abort.abort(new GatewayError('client_disconnected'))
  t.match(await rejection(running), { code: 'client_disconnected' })
})
