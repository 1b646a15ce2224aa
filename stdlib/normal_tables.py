"""The ziggurat of the standard normal distribution with 256 steps: the tables of NumPy (BSD licence)."""

from __future__ import annotations

_tables: list[tuple[tuple[int, ...], tuple[float, ...], tuple[float, ...]]] = []


def tables() -> tuple[tuple[int, ...], tuple[float, ...], tuple[float, ...]]:
    """For each step the distance below which a draw is accepted at once, the width of a unit of distance, and the height."""
    if not _tables:
        from base64 import b85decode
        from struct import unpack

        _tables.append(
            (unpack("<256Q", b85decode(_BOUNDS)), unpack("<256d", b85decode(_WIDTHS)), unpack("<256d", b85decode(_HEIGHTS)))
        )
    return _tables[0]


_BOUNDS = (
    "YVRe0J@XC#0000000000sK)!4z6cBeLV>;dRHF?5>h8gQ_E8Q1e)rSqRk98MxypWlOYaT<szmw<M;Q+Q7|Z`*?KckqTqR+ZMo$j_mZKZwrC|>Mq?S{4dT<W_"
    "nnWn<vV0E!(^q2*@rDlo-"
    "X()qrjHK*+R#nMB$p2W3H93tshtl1boznyV51KJ_)A;fZ>SFd+*H$G@vIL354jj;`>+oH#&lDSpR^AEcm8H0?6(g94&|Zg?79yC?F$5*tGy2ZS8V@aFu)H0N"
    "TN3og2E2~(Ocqrro;~bG46VoqQ(yZq?RbDddLp|h2BeEGRhAC8Y2Sf%*zh|#5wp9P0bGgne2~EwayO!Fv%Ui2ha}y=ET-"
    "bM$r!dQ1s%ca?%d~9?9@ej?)hSc(jn2n$!;fQxB53nAHye?3s?hiPjGQGU&*uZr2Y0=m>jMNZ1bmj4Z8-7ugR0(ygZl-PsQSj9w6Mnc5EkATGdNP1_Fu(EM9"
    "m`P&ZweVV!Jo!k!qopKm~JKYZekS{cd(%laLWS=%<W8Mz{PEn0;?%odoF0`frbl(pEK<$}j^xqEv@+7?EZ{QCASfVAu=HL$iOt>gKS>X==nLoUY$KekEsvO("
    "tG2#yZksI2DnBorrhC#KD`{EA(N{v-BTjLJ^Dge-"
    "#x8n~0f32SB5abU4G<VcSXXFn6TnS9my5tW4B$d*x3*`?0c)U*cS>+D^5)$OdrR5I*iG~wC@8u5wco5ldHs%iic-6*rd*%-"
    "Ssu3P$zUB`A^7Q3Z|K<+>0;d33KIabrIi5a(d*=@TqHu8Iw&xE3Lqd0r@aGQzjPO&CDCiFWIu|wjUg!@1WC(=Zljsisyw31J$LJ3L_D+2``RES-9h-"
    ";DDd`UY>WI?`S?Lb|qMDQYhUpIgW=L_Yv*`~2)wYx--{}tkeCDfj3F;33q-"
    "OD)GU^WiER`~=TIvq~8g$jBf$9$c@EqQkr|J&?AldVU%<2ySJmzJ1@ahi$6YMW`6YCEEN-"
    "F+^HR}%mv|=%?R_hM{`h?>2cIyuS6d>kbmg^4ye4WqqwCfK5&`I>T((4ZZJ}z#t@9Pf$=)E4}3+xX76<V=UC+rUZ)32QbLhKI!mhmb5TkH=2^zLjxb?grSv<"
    "y(vjqDEq5+9MarR)y?{wKunyzCDE75h|#)9eobv&e{a>Ff^xw~>Fu{_GC`D1|k56YUQG14)FBC+!aaOfMu5JM9kuZdk4RP3;c=-"
    "NTqvVC@e8=ubf%a_tWQf~n+JgY6Fh$SkA=l<f}y1h<7Nr0ov?v}$z7v+WN6Qf5Kl!tD<LQf{Pi(d`ca(~3NS-"
    "|Y_ofSHgF?d=Z$6x0tM`t1(@#7h#c2JR0423py`67CNG;0BOa9_|kSBxOr;DeeydyyOZMH0}=oJe#;ZKJE_y^nxkwNA3>*hOiwcQSJ`_L4QE$S?&)2F0?2$V"
    "(t$B@t0T&YVHpJdIvsiaqbTQf_pMpc<v7Xx(0jCe(nzdvPwwOgzgUjLu0mJitY~pQOL}CkM0iu+9iG<l<p4z>M5vEnC=e%Tu2iRobC?*^mB4mpY9I;uFPU5q"
    "V5j>tU_ypr0x#@aV`94rtS{_`qpmOr|u5`3i<@jsO}E{J2U7@sqPN|5M(J(sqPN|UI)P0sO}E{RCbByr|u5`Bppb2rtS{_gPx*_r0x#@+T<b~qV5j>Bp@{|p"
    "Y9I;F0UrMo9+()<nkoNm+lV$Itn~TlkN`y7IjrXj_wZtdYm?{i0%&n{XKt<g6<Chh`6WTd+rYa|2O}ebnXuTUcITqZ0-"
    "*LegK|QWbO|Dh$y2)Tka14wpUJ>QSJ`_&jtWWNA3>*P%Pn7Jnjzw*ec+%Fzyck1%j<&B<>FYT0FR37w!)LM-(ce3GNR7%t_-"
    "X`|S?^Y$0~)>+KH!egq=q+wBhk(>cx#%k2*U^ehBqx$O@C$vElUrtJ>^jp;XXlkE=xHmEopf9($dE5NzZY3&aH0Imj&Q|%7`BBb6yJnatv*e`15Bkd0WMCLD"
    "Z3hfU7H2w$L@9Yl%xVH`v)a(xcv~HCMx9kr9!7viGnCuS#c&QBvdF&4W{xJ{rSL_b}V#$VPHS7-"
    "nHM6u#5$q2D&~J{E>+25ylD42J#On_L+zjsZn(Ge$LWRlUZ|e^Lo*%8#LhBCzODzkq6YCEE=>i&A;_43oS0b6NuIdi}CgYBcc<K)T<#YYdKk5$v_Sub01nLg"
    "}J612&#pw?Kq(`Ycgy|0eC`TPfKj{wu*2Q+c_UI1)=IF#-s^|{@>alv@S?CV{K&g=S1n3U{z%znKtLF~@rD`8_Oy>^(0-"
    "`Dq=;jXq*sHdnedZ4UelR$n4CW62Liadxl;sZqfO3~`6y*;9SoAj3i{uXgHy-`J`Qr}&oU!gTUE>b`{^Tzbwc-x|S5=t<0OAh-"
    "6oYtzJmC)juxIYXXy6Y3s&Ol@g5M7Ss{Ve(hu#kW{X519b=?mD6Td0tM%)hof&wo1_}UKub-"
    "J?Qh1m}P1kXtC=GPAZ3uV2n6V?v^67b?l0n`rwtjDycq0tWjo*#Au;?55MvJqa`sLKxkA}!5s(#H<~?IIp8E5i=}I=H}rWxWpoG*ke@2DT3XbSNrVK&%e{m_"
    "-2|m!1y*{2io7`iTz!EHLo*#byrxN*pswS{e@k"
)
_WIDTHS = (
    "dD#_sJ4w$x#`gW=3yq6Bv|B7ZuTYXaVLL=PxqOv845u&X`~jFeywFT83?rI6_hC3MO#qxcbaHfBFRYzB!_`bJNHU*1t-"
    "FpVGEJa7LtO$p1@)jjcQ!$nrjnsN^%{DQq9>v}fY@U=F14aO^^sS=KRly6FR`M*p1q?yRh$2f?>VGAr~W-"
    "QyRoD^bkiDQbtR=dmd*#KfR&{@>VDbJF#@JMJ$$2K(rczXa0LL8qSB^3ruatF+BT;=cPg_Gt(d1gL-"
    "j_jMfj&YcM3yO%vGp7ns$4hWU;6`n9okBE(@tV>K-hDM`NixM#VUe$+@XKET^R0%nqtNS<QECXJV>6FcuJQt+c8<oNN<qu?4F<DSASOgjK6NI-gRGHl(XOGJ"
    "?M<*72)6^G;d$a6YU&VLLLV6N;=nizagZ$<(YoNVk9vpB}9|5Fg|zooB5)!?+^=&abUJQ+DyGI`^$S{_WDW>piYK0B?FT>4UC3&Vu>9I?1j)CSve}=MAqsi1"
    "yf2_EE1quGfd2ZI!P)tS<U}Q`oOO>@-5)Rt>N`nvXg4KrXO6{G}G2>Q1mc5TJ5fR&TI83-"
    "oc2hL5m36JflBeXp=Qf6Pl}J<qT_YX}xg$nLN_?iH0XAP%uSz7H`6M=h~DL6MH1K1{JZ9w5ZO2y3xCG}?F?r-"
    "`vVh;8ms8>q27%PRQzX2!8RF4W+Yi{!C9pP)dQiUP7c>BhuzWgxOVAH(T=9X_%=`)jETv|F+~f72aiDtWRz8`l}fftIp7+Ag?ayR))9Q@G(`*wC^(j;YJ&+3"
    "m7C*GO&+!3wiHFuC;MjwiD`p<X6%L`1VZ)l$m3;$X8pYFGunYJIajWU{hv-"
    "I=pI13kFEJGQet;2l<&hSIY<gIaRlzV5R;be`aG<qEVsU38```zEwJq%b__07JAqUB}9E_g=I-Hp6C~-"
    "+Ht>FONtvx|Xy&T|ol&hqAOh+!3>^NzSx91*SL_0P3_nVpU%6s|B?@T8j$uO(C^BPiAV><~+4L$g&$wcUZMNcwbcx0CcrH6on4PfseI3SsNrH{i?M*J#&50a"
    ">lhh(~K{B<KeYDI9{K~PyMw#!yltyxEQuPqOhXq9W=H)3nsS&flszPa+b+g;%c@$H!-"
    "n;LWZ_Hv9eGpqM^1tyF;_+0ll_7Qqw45V%WAkRQO>r#Pha1>u8JjCl9wg#uRB$jw-i2-0pDP_eHlnA9Lk3Wns5GN%Zgf)_k`-"
    "lfAmgO_;Yl2^5Pw%ComT`y$)(OwYGG=iYOS*6O!BAL@prX9l=Dc818>03x_N6`zUDqCL1gz4g%_PFc7-"
    "#eRBk19iAOE%!%X!;rW<L%;=+j;y#moD89>WyrWZCu&4dN#wXZkF|3tIsmymM}sKbI2^e={0i?9MmV`VilPH~VpO?2?$vO+j&Qj=F)A*J%Z#}^znMRi8L7EE"
    "EZNnJdBwRr5p-`W?BTgQO49l!a{jqIk~aA{3>&&UTgajzyEnQ#h`S4(e^k0Wq^U}BT5-"
    "BOJu#qUOpdxd2=SjjR;#)^&h=W&c*wduHnWT2wB@=y8ll5a3j@16TbP>gd?33#01V)u3O>6$13k_`wOhM9Cy76~eR;b)Jon}CWS6@<ZY71=Yqh&PqQEX|lhe"
    "CAgRX&_-0{0Spcd?GND#a{Eqd_f*Dky~91U(0j7_{e1&8biW^BAX7pCjrW{bQ$tD-i&kE*;pkk&iL;mN!_H{fV6Ug^9%ZjXyH1_`}9An!L2+bF#}N5(T1-"
    "blSXBk|{!5NW+UrTf?PbBVn?aBd)(397w34oUp@(#pL&H!f0@(d)fD9MVbq1`WPE_D1T&bS}O;h|$5B98kVICH|K$0CK)O3co5#A(Xy62ygemfwsOpI;RkJB"
    "iX(@sq6t^2>iZ0AydMNG9SM@ZB4fiq(Z+uXaUI}UuM5Nf|rQ|W{ST&zanuMyRN@Hh37BQVAH=m3-"
    "%bnS@^#^b)eHn)DFNrN6C)@s3E{Ss{*NmsWiYm$Mrr=+DE`VezUFiJ6pg!XeOs4&~Csy7cOIun1aAORHEnzmzKah#K3WN&8omWNYw7pJ-"
    "@&_Fg>a?>eIkHlVuUl)abxGwx6c&|NX!`L2w`hZWF;gHC?-#At}K;Z3)C_9Y4W5J1$^IWL3dD^X{EH`D?*EVG`1G--"
    "5wBtm{rz8k)g8jxT?At+By8l%{d1oXNpFIj-dU>*2vX0omfhpZdW(fy@M*yc5Da?$d92M=ioUB%G|IMMuIs;8=FYykWvTE?KDhvV6ikcn){XE||hRQVJ?lH?"
    "+b$m)n*x)X>5_^?0eV4er7`?ygqS><hy@qoinFdn&^`qY|zK#7V<EK&Uf%(rLpy3PDzqvx>t!`iQP@b*#fYrUVzWC(pw?b@X7W+w#La+U2>Nq!+|IlwMR7m_"
    "5Wi6*{Lx&Sb<qyhEIIVvWQ+Ct7QrbGO7i0*TEHCF8_AL9FRhpAf}7LVh|@5kSQ}8{|r<v2n#b*^P0Fz@^1J{?IxkirmFKOdf{MX%@yj>S_Rc&Qr!b!{wj8K$"
    "XTkGU5r1Yum;=G<sj~C@04}a|Q`km3hZJjLz2dE!4+6H1a7013Ab%6nv_`539&LmPBuq;4aBLt5-k)?#szMT6dIq+>gpUvHf^BADGKLGpz}Nv^&i_"
)
_HEIGHTS = (
    "00000008hmhwypHYDDip6{&1nRJZOwckn0R5kKxfmEHuWZ`18R^1N3Dl5p)m+!>*GNfhlr>n*3KGrjCTe|V|RUTW+=>bmaP92@LEg52Rw>(1*xQuU8IWrgcM"
    "5ZyF_IzH<^qUdZtD*5U^1SNX${<Z2q;mJ_di*)Kg53lw8sx<09*dJx?JND^6fd(XvBDv{5!Fpj=Mt$i&M|vB=kwWP|PjNB5@d)WZs0!v!RnX`^0^hnwt(fRP"
    "th_h;>tX0WZqHT^1uW=4%i<tQ?e^zCSZJJgn!@Kl)v%yE1CQrFR@iU{A6(}@5^X>9<tgVs?t1FFQ26FQiCSZxSjXl+DmzhL_m<{ABjb`PCuinA7z|aI;y30$"
    "WhQ`_Bnjp}YX3@a=-"
    "TB!iCoC6DXrx{kBv+w<bUNqMxKrE6I10s)of*2wI=01XSN{d#QNkvz)nd|KhNYpcv9SQA*AF#5>Ve?XnEv6c{WK(5l`el<6kw3871UDf?HUbe*5D;qcN`#KG"
    "Neq4$WewRjK1Y)d1Qn!+_&I=}`5HgjnN0H9By~moVc$?>J=r`UvAc?mOyLtl{E6N|o0Xs=DGo70r{5@{{5}?F0oWgl*zKgxio>T}R?S^7k*Pd?DgLAeNG;;Q"
    "Qe}X_-|1ht}ag5z#+aak1e)P&}J(n~dQ<+Bt?21!&<voT*+AtwZ5II3F=ck{{te6In8%v-"
    "{vbph7_q5ZK^9uGw&nrnKNcfnAv$c9GyeHazgmeQw}CE<dKPyi4FeDuRpQF)83b#LBpZ+y>x3p}l*Icgf#B$^faSorT{&^Lj7KDMH^rm5+XL8vouuR3E({Zo"
    "J+<#luc&BYNIHg_~dMI5^%v2|9L1t@hnNu~rK*f3@8|Gu|d-t#sW#fDi(qHZ<KoZCkFi8T8ygNT|SbRkYkc$JYS6=ycpaxGWuS(ly*a7iwXA5%=3ak!^9-"
    "q`2EZ8xse3i+bBX$}zKI#5~(SQiY+OPXF3Jo?2fzDZ<)6fY_u;Q-#_;O~4@P%ShTkK7>X&k__5E-"
    ";*9*rO??w#=sba1eMu8lb_(*u36bX7t1r7qaN8m74f<J;p5mph>_kuX{p#hwpy&HIB(cL*$t|HPc_&-"
    "5!tvAt^3zMuoU#KP{P+g>r#@hIf>Ul?XkycXHeHaOkt@z*%#M8s!S4wj^EZlA>N3shNsp);>#r(!Ee?-"
    "73F(3Jvi1s$kKpx`T*8HM8bAM_{r5jzV6l;Hj~vq00BL4vs~3b?K@M#Zzk10l5M|^YVg!QqMQ&{qq@{T)M~At8HLn8{v^Zi%um!m8G1F*yc*O$+tQBE=;hNt"
    "u0!#BP_ffLc@qd|^L*1kp3(Uw(MZ!jFZNnZ=@ipHW(Og6JK@ql-9MH-"
    "$F0&o9<fb9jC#^PiQX3<ibv8vp3L`oz!cIy7J(S{F5=NYQ1HSz)vwV%=u}kgvVGA%XYMq+$4k*aBP7pH6B^M!#0iI4mFUnv+Cs93O}EfLHban)JBH9d+37+e"
    "UscdQesst7w<OR%#gpHOi|EfkH8Qx25Qxt|(wOON{wL2rM4ZW_RLIUh-8?9=5^2sqgmFa{I10``3XsQD#H-"
    "CePf@b?woT1H%x_+b5Ae)CQ{Qo!&63PNN1fQW@HNaop%}h;c-"
    "hN8sxgOpWPQs&I?>Ehv?0qs2N+kPXU57uekK_Uerw7<J$@}R_YlfITK>|%(zeMzCwyvO5M9YXY5H`(uLH?HTY-"
    "|1u&T&EIGTZq5>m)Nb#WhJ)%nLiBco{3_@T!?rnP#Ud`ibZ7DtwTVDrX5T=F44q@2b-"
    "obj!qM@Gg!`Gfd&O7O)$Y#sB6teV9?HE77GZAHaD!5`zTjqt=jEzb3944lM2)pY~H=|{vrt}$tgCG^8T?$_w5zo5fEh^w>(xJ|=9Wh#7x4*SAC8V7n4!>GbP"
    "w_byy)mFkkG&~q3Mg_t@LVb0T6tuxVV=buVKx4r_xo)Bz%M!sqx(QM}v%<hXg}=B<`EtNNDt!i2og=_MEFx>mKB>Py91c<`{|moAOQo9fdvCr!kLY$`wbQ*n"
    "<&nL)t2n(s3UoV3U!J@_6%Y$(&;-"
    "0cGve}i|7*KHGxo~q?9;kGhGOb7nLN5b8C#v)1g5z^tDvNHFc7&vQYgQj9DBGw*6%(6%I3E}b`h#tIa9YkOiF2UYrwWY7)^yFVJ@~mq-Jzi8=bX3t}FTmn+&"
    "x-"
    "6CxWx;e50|hMFcL@9ncca6Z}O#b2{O5iy(3X40}hkqzBM(?zmBeTkR847#yDofq=Z6fdzqC6*N|?WC|jm*g;>mm9D@HEwJxEGDl%fl;zY)fTQlV)3p1E(xta"
    "EGj4uKK-jda9=o(2lJ{wV^t~nkm{*FtF>q<;Nz%29w)DN``)KNWYCzi>D#71)UEP7vf8CTT_+I^UE8ET%kG%Y^4+69m-Id8eBz=%ylNkx1?izb5rCF1nDL-"
    "L#HAS5f%u<4b&P`B8WNsA8VSvV88Dnb`0FB0pHiAX3c&!j(Rr9Zg1-y&+NG91WU%}4>eiG$6JD#0I1Q6O5-"
    "?yi14)rTN!@Z!Dix1EtdCD8jiie|c%+RD1VM;D;LjRDmg|H+k}s7hlBIz^H)!nmVBvf}UAPR{sGfE|{jsnEABu24XRyITpI>D^5BIsY1*TL#"
)
