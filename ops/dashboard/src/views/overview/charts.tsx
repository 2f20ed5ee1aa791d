// The charts of the overview. A bar or a drawn range leads to its records, a name to those of its group.
import { useCallback } from 'preact/hooks'
import { useNavigation } from '../../address.ts'
import { keepRange, writeAddress } from '../../data/address.ts'
import { addUp, type Figures, type Series } from '../../data/figures.ts'
import { formatAxisPercent, formatCount, formatDuration, formatPercent, formatShort } from '../../data/format.ts'
import type { OverviewSums } from '../../data/load-overview.ts'
import { boundsOf, DEFAULT_RANGE, titleOfPart } from '../../data/ranges.ts'
import { Chart } from '../../parts/chart.tsx'

export interface ChartsProps {
  readonly sums: OverviewSums
  readonly figures: Figures
  readonly theme: string
}

export function Charts({ sums: { dimension, bucket, whole }, figures, theme }: ChartsProps) {
  const { params, go } = useNavigation()
  const range = keepRange(params, DEFAULT_RANGE)
  const open = useCallback((bounds: { fromMs: number; toMs: number }) => go('records', boundsOf(bounds)), [go])
  const openFailed = useCallback(
    (bounds: { fromMs: number; toMs: number }) => go('records', { ...boundsOf(bounds), has_error: 'true' }),
    [go]
  )
  const linkTo = ({ filter }: Series) => filter && writeAddress('records', { ...range, ...filter })
  const linkToFailed = ({ filter }: Series) =>
    filter && writeAddress('records', { ...range, ...filter, has_error: 'true' })
  const { requests, errors, inputTokens, outputTokens } = addUp(whole === undefined ? [] : [whole])
  const part = titleOfPart(bucket)
  const shared = { parts: figures.parts, bucket, theme }
  return (
    <div class="charts">
      <Chart
        {...shared}
        title={`Requests per ${part}`}
        summary={`${formatCount(requests)} in all`}
        series={figures.requests}
        kind="bars"
        format={formatCount}
        formatAxis={formatShort}
        onPick={open}
        linkTo={linkTo}
      />
      <Chart
        {...shared}
        title="Failed requests, share"
        summary={`${formatCount(errors)} of ${formatCount(requests)}`}
        series={figures.errorRate}
        kind={dimension === undefined ? 'bars' : 'lines'}
        format={formatPercent}
        formatAxis={formatAxisPercent}
        onPick={openFailed}
        linkTo={linkToFailed}
      />
      <Chart
        {...shared}
        title={dimension === undefined ? 'Latency' : 'Latency, 95th percentile'}
        summary="The tables below have the percentiles"
        series={figures.latency}
        kind="lines"
        format={formatDuration}
        onPick={open}
        linkTo={linkTo}
      />
      <Chart
        {...shared}
        title={dimension === undefined ? `Tokens per ${part}` : `Tokens per ${part}, input and output`}
        summary={`${formatCount(inputTokens)} input and ${formatCount(outputTokens)} output tokens in all`}
        series={figures.tokens}
        kind="bars"
        format={formatShort}
        onPick={open}
        linkTo={linkTo}
      />
    </div>
  )
}
