package strategies

const latexSample = `\documentclass{article}
\newcommand{\x}[1]{\section{#1}}
\title{On cats}
\begin{document}
\section[Cats]{About cats} % \section{no}
\label{sec:cats}
Cats sleep (see \ref{fig:cat}), $p = 0.9$, most of the day. A cat that \emph{does not} sleep eats; that takes $t_1 + t_2$-ish hours, e.g. 3.5.
% A remark. With a sentence.
\begin{theorem}[Naps] Every nap ends.

A nap that $n$ cats take ends later.
\begin{align} n &= 1 \\ m &= 2 \end{align}
\end{theorem}
\begin{figure}\includegraphics{cat.png}\caption{A cat. It sleeps.}\label{fig:cat}\end{figure}
\subsection*{Kinds}
\begin{itemize}
\item Tabby, with \verb|a. b|
\item Black
  \begin{enumerate}
  \item Large: $$ x + y $$ or so.
  \item Small
  \end{enumerate}
\end{itemize}
\begin{longtable}{l|r}
\hline
Kind & Weight \\ \hline
\endhead
Tabby & 4 \\
Black & \makecell{5 \\ 6} \\
\end{longtable}
\begin{verbatim}
\section{no}
\end{verbatim}
\begin{unclosed}
Last words.
\end{document}
`

const latexChinese = `\chapter{绪论}
猫每天睡很久（见图~\ref{fig:cat}），概率为$p = 0.9$。不睡的猫会吃东西；大约需要$t_1 + t_2$小时。“真的吗？”是的……
\section{分类}% \section{不是}
\begin{enumerate}
\item 狸花猫，体重$4$公斤。
\item 黑猫：
\[ m = 5.2 \]
比较重。
\end{enumerate}
\begin{table}
\caption{体重}
\begin{tabular}{ll}
种类 & 体重 \\ \midrule
狸花猫 & 四公斤 \\
黑猫 & 五公斤 \\
\end{tabular}
\end{table}
\begin{proof}
显然成立。

因为$a = b$，所以$b = a$。
\end{proof}
`
